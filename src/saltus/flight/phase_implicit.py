"""A smooth phase by an implicit Runge-Kutta method: Radau IIA, Lobatto IIIA and IIIC, for stiff forces too."""

from __future__ import annotations

from saltus.compile.seam import head, tail, unit, whole
from saltus.compile.types import PART
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, TASK, judged_by
from saltus.flight.phase_explicit import PHASE_PLACE, RUNGE_KUTTA, fill_nodes
from saltus.flight.smooth_step import PACKED_TABLE, implicit_step, radau_error
from saltus.memory.vectors import copy


@unit(PART)
def implicit_phase(model, staged, settings, task, t, h, frame_room, record):
    """Make a step of an implicit Runge-Kutta method by the stages of `solve_interval`.

    in      task: TASK.attempt with an error estimate, TASK.again without, TASK.fill the nodes of the last one; frame:
            start, index set
    out     frame: q, v of its ends; nodes, sums of forces and powers (TASK.fill); header: error, degree
    kept    the factored matrix of the stages
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    task = TASK.fill if task == TASK.nodes else task
    first = whole(settings.phase_at)
    at = whole(settings[first + PHASE_PLACE.method])
    pair = head(tail(settings, at), whole(settings[first + PHASE_PLACE.staged_at]) - at)
    tab = tail(settings, whole(settings[first + PHASE_PLACE.staged_at]))
    phase, ends, acting, interval = RUNGE_KUTTA(frame.phase), frame.ends, frame.memory.acting, frame.interval
    stages, own = phase.stages, phase.solved
    if task == TASK.fill:
        return fill_nodes(model, settings, pair, h, stages, frame)
    status = implicit_step(model, staged, settings, tab, t, h, ends, acting, stages, own, interval, record)
    if status != 0:
        return status
    copy(stages.q, ends.q)
    copy(stages.v, ends.v)
    if task == TASK.attempt:
        record.header.degree, record.header.error = pair[PACKED_TABLE.error_order], 0.0
        if settings[first + PHASE_PLACE.estimates] == 1.0:
            scales = judged_by(model.layout, settings)
            record.header.error = radau_error(
                model, settings, pair, h, settings.rtol, settings.atol, scales, ends, acting, own, interval,
                phase.pivots,
            )  # fmt: skip
    return 0
