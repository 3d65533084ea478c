"""A smooth phase by an implicit Runge-Kutta method: Radau IIA, Lobatto IIIA and IIIC, for stiff forces too."""

from __future__ import annotations

from saltus.compile.seam import ivec, unit, vec, whole
from saltus.compile.types import PART
from saltus.layout import NC, NQ, NR, NV
from saltus.stages import frame as frames
from saltus.stages.frame import FILL, FOUND, PHASE_AT, TRY, part, remembered
from saltus.stages.hold import POWERS
from saltus.stages.phase_explicit import ESTIMATES, METHOD, STAGED_AT, fill_nodes
from saltus.stages.smooth_step import ERROR_ORDER, STAGES, implicit_step, radau_error


@unit(PART)
def implicit_phase(model, staged, settings, task, t, h, frame, iwork, record):
    # ---- model / settings / in / out / work
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    width, first = POWERS + nc, whole(settings[PHASE_AT])
    at = whole(settings[first + METHOD])
    pair = vec(settings, at, whole(settings[first + STAGED_AT]) - at)
    at = whole(settings[first + STAGED_AT])
    tab, n = vec(settings, at, settings.shape[0] - at), whole(pair[STAGES])
    phase, inner = part(settings, frame, frames.PHASE), part(settings, frame, frames.INNER)
    used = n * (nq + nv + nr + width) + nq + nv + nr
    stages, own = vec(phase, 0, used), vec(phase, used, phase.shape[0] - used)
    at = frames.I_VECTORS * nc + FOUND
    index, iinner = ivec(iwork, 0, nc), ivec(iwork, at, iwork.shape[0] - at)
    q_0, v_0 = part(settings, frame, frames.Q_START), part(settings, frame, frames.V_START)
    q, v = part(settings, frame, frames.Q_END), part(settings, frame, frames.V_END)
    a_0 = remembered(settings, frame, frames.A_BEGIN)
    if task == FILL:
        return fill_nodes(model, settings, pair, h, stages, frame)
    powers_0 = remembered(settings, frame, frames.POWERS_BEGIN)
    for i in range(width):
        own[n * (2 * nq + 2 * nv + 2 * nr) + i] = powers_0[i]  # a first stage that is the state itself
    status = implicit_step(
        model, staged, settings, tab, t, h, q_0, v_0, index, remembered(settings, frame, frames.DIRECTION), a_0,
        remembered(settings, frame, frames.R_BEGIN), stages, own, part(settings, frame, frames.IDLE), inner, iinner,
        record,
    )  # fmt: skip
    if status != 0:
        return status
    at = n * (nq + nv + nr + width)
    for i in range(nq):
        q[i] = stages[at + i]
    for i in range(nv):
        v[i] = stages[at + nq + i]
    if task == TRY:
        record.header.degree = pair[ERROR_ORDER]
        record.header.error = 0.0
        if settings[first + ESTIMATES] == 1.0:
            record.header.error = radau_error(
                model, settings, pair, h, q_0, v_0, a_0, remembered(settings, frame, frames.R_BEGIN),
                settings[frames.RTOL], settings[frames.ATOL],
                vec(settings, whole(settings[frames.PROMISE_AT]) + frames.SCALES, nq + nv), index, own, inner,
                ivec(iinner, iinner.shape[0] - nv, nv),
            )  # fmt: skip
    return 0
