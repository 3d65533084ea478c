"""A smooth phase by an implicit Runge-Kutta method: Radau IIA, Lobatto IIIA and IIIC, for stiff forces too."""

from __future__ import annotations

from saltus.compile.seam import head, tail, unit, whole
from saltus.compile.types import PART
from saltus.flight import frame as frames
from saltus.flight.frame import FILL, FLIGHT_SETTINGS, FRAME, TRY
from saltus.flight.phase_explicit import ESTIMATES, METHOD, RUNGE_KUTTA, STAGED_AT, fill_nodes
from saltus.flight.smooth_step import ERROR_ORDER, implicit_step, radau_error
from saltus.lasting.hold import POWERS
from saltus.memory.layout import NC, NQ, NV


@unit(PART)
def implicit_phase(model, staged, settings, task, t, h, frame_room, record):
    """Make a step of an implicit Runge-Kutta method by the stages of `solve_interval`.

    in      task: TRY with an error estimate, AGAIN without, FILL the nodes of the last one; frame: start, index set
    out     frame: q_end, v_end; nodes, sums of forces and powers (FILL); header: error, degree
    kept    the factored matrix of the stages
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    layout = model.layout
    nq, nv, nc = layout[NQ], layout[NV], layout[NC]
    width, first = POWERS + nc, whole(settings.phase_at)
    at = whole(settings[first + METHOD])
    pair = head(tail(settings, at), whole(settings[first + STAGED_AT]) - at)
    at = whole(settings[first + STAGED_AT])
    tab = tail(settings, at)
    phase = RUNGE_KUTTA(frame.phase)
    stages, own = phase.stages, phase.solved
    index = frame.index
    q_0, v_0 = frame.q_start, frame.v_start
    q, v = frame.q_end, frame.v_end
    a_0 = frame.memory.a_begin
    if task == FILL:
        return fill_nodes(model, settings, pair, h, stages, frame)
    powers_0 = frame.memory.powers_begin
    for i in range(width):
        own.powers[i] = powers_0[i]  # a first stage that is the state itself
    status = implicit_step(
        model, staged, settings, tab, t, h, q_0, v_0, index, frame.memory.direction, a_0,
        frame.memory.r_begin, stages, own, frame.idle, frame.interval,
        record,
    )  # fmt: skip
    if status != 0:
        return status
    for i in range(nq):
        q[i] = stages.q[i]
    for i in range(nv):
        v[i] = stages.v[i]
    if task == TRY:
        record.header.degree = pair[ERROR_ORDER]
        record.header.error = 0.0
        if settings[first + ESTIMATES] == 1.0:
            record.header.error = radau_error(
                model, settings, pair, h, q_0, v_0, a_0, frame.memory.r_begin,
                settings.rtol, settings.atol,
                frames.judged_by(layout, settings), index, own,
                frame.interval,
                phase.pivots,
            )  # fmt: skip
    return 0
