"""A smooth phase by an explicit Runge-Kutta method, half-explicit where contacts and joints are held (eq. 79)."""

from __future__ import annotations

import functools
from math import sqrt
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import MODEL, PART, A, F, I
from saltus.compile.workspace import Workspace, integers
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, TASK, judged_by, span_of
from saltus.flight.packed_methods import packed_method
from saltus.flight.scan import SCAN, with_factors
from saltus.flight.smooth_step import PACKED_TABLE, SMOOTH_STEP, STEP_ROOM, dense_nodes, stages_of_step, step_error
from saltus.lasting.hold import REPORTED
from saltus.lasting.index_set import INDEX, WAY
from saltus.lasting.interval import STAGES_ROOM
from saltus.lasting.masses import factored_masses
from saltus.lasting.workspace import ACTING, ENDS, LASTING
from saltus.memory.profile import solve_row
from saltus.memory.vectors import copy
from saltus.reaction.react import row_add, row_dot
from saltus.tables.tableau import packed, tableau


class _PhasePlace(NamedTuple):
    """Places of the settings of the phase."""

    # the numbers of a phase: where its polynomial, its samples, its method and (implicit ones) its stages begin,
    # whether it estimates its error
    table: int = 0
    sampled: int = 1
    method: int = 2
    staged_at: int = 3
    estimates: int = 4
    head: int = 5


PHASE_PLACE = _PhasePlace()


class _ExplicitPhase(NamedTuple):
    """Tuned numbers of this file."""

    first_share: float = 0.01  # of the span: the step to begin with where nothing is known
    stable: float = 2.0  # (step size) (rate at which friction turns a slip): up to there explicit methods are stable


EXPLICIT_PHASE = _ExplicitPhase()


@functools.cache
def polynomial() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes of the dense output as kernels see them, and their weights at the samples, by columns."""
    made = tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")
    return packed(made), with_factors(made.interpolation(np.arange(SCAN.samples + 1) / SCAN.samples), made.c)


def phase_numbers(method: str, begin: int, *, estimates: bool, staged: np.ndarray | None = None):
    """Return the numbers of a phase that begin at a place of the settings."""
    table, samples = polynomial()
    parts = [table, samples, packed_method(method), np.zeros(0) if staged is None else staged]
    at = begin + PHASE_PLACE.head + np.cumsum([0, *(len(one) for one in parts)])
    return np.concatenate([at[:4].astype(float), [float(estimates)], *parts])


# stages of a step; implicit methods: stages as they are solved for, pivots of the error estimate
RUNGE_KUTTA = Workspace("RungeKuttaPhase", stages=STEP_ROOM, solved=STAGES_ROOM, pivots=integers("pivots"))


@unit(PART)
def explicit_phase(model, staged, settings, task, t, h, frame_room, record):
    """Make a step of an explicit Runge-Kutta method; contacts and joints are held at every stage (eq. 79).

    in      task: TASK.attempt with an error estimate, TASK.again without, TASK.fill the nodes of the last one; frame:
            start, index set
    out     frame: q, v of its ends; nodes, sums of forces and powers (TASK.fill); header: error, degree
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    layout = model.layout
    task = TASK.fill if task == TASK.nodes else task
    first = whole(settings.phase_at)
    at = whole(settings[first + PHASE_PLACE.method])
    pair = head(tail(settings, at), whole(settings[first + PHASE_PLACE.staged_at]) - at)
    total, step = whole(pair[PACKED_TABLE.stages]), whole(pair[PACKED_TABLE.step_stages])
    stages, room = RUNGE_KUTTA(frame.phase).stages, frame.interval.lasting
    ends, acting = frame.ends, frame.memory.acting
    if task == TASK.attempt and settings.misses > 0.0:  # steps that are given stay as they are
        h = smaller(h, EXPLICIT_PHASE.stable / larger(turning_rate(model, t, ends, acting, room), 1e-300))
        if frame.memory.numbers.unknown == 1.0:
            # a step that was chosen at rest; estimates of a long one behind a jump may vanish by symmetry
            h = smaller(h, EXPLICIT_PHASE.first_share * span_of(settings))
        frame.marks.limit = smaller(frame.marks.limit, h)
    begin, end = (step, total) if task == TASK.fill else (0, step)
    status = stages_of_step(model, pair, t, h, ends, acting, begin, end, stages, room, record)
    if status != 0:
        return status
    if task == TASK.fill:
        return fill_nodes(model, settings, pair, h, stages, frame)
    copy(stages.q, ends.q)
    copy(stages.v, ends.v)
    if task == TASK.attempt:
        record.header.degree, record.header.error = pair[PACKED_TABLE.error_order], 0.0
        if settings[first + PHASE_PLACE.estimates] == 1.0:
            scales = judged_by(layout, settings)
            record.header.error = step_error(
                model, pair, h, settings.rtol, settings.atol, scales, ends, stages, room
            )  # fmt: skip
    return 0


@unit(F(MODEL, F, ENDS.kind, ACTING.kind, LASTING.kind))
def turning_rate(model, t, ends, acting, room):
    """Return a bound of the rate at which friction in space turns slips into their direction [1/s].

    Friction mu r_N against a slip u pulls what is across to it back at the rate mu r_N (W_T^T M^-1 W_T) / |u|: right
    behind the beginning of a slip, and right before its end, the equations of motion are as stiff as that, although
    the motion itself is smooth. What goes straight on (flight/depart.py) does not turn.
    """
    layout = model.layout
    nv, nc = layout.nv, layout.nc
    lu, W, X, moved, column, u = room.lu, room.W, room.X, room.f, room.column, room.w
    q, v, index, direction, r = ends.q_0, ends.v_0, ends.index, acting.direction, acting.r
    total, known = 0.0, False
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if index[c] != INDEX.slip or end - row != 3 or direction[2 * nc + c] != WAY.turning:
            continue
        if not known:
            if factored_masses(model, t, q, room) != 0:
                return 0.0  # the stages will say so
            model.kinematics(t, q, model.par, W, u)
            known = True
        speed, moves = 0.0, 0.0
        for i in range(row + 1, end):
            speed += (row_dot(layout, W, i, v) + u[i]) ** 2
            solve_row(layout, lu, W, i, X, column)
            for k in range(nv):
                moved[k] = 0.0
            row_add(layout, X, i, 1.0, moved)
            moves = larger(moves, row_dot(layout, W, i, moved))
        friction = model.mu[c] * larger(r[row], 0.0)
        total += friction * moves / larger(sqrt(speed), 1e-300)
    return total


@unit(I(MODEL, A, A, F, STEP_ROOM.kind, FRAME.kind))
def fill_nodes(model, settings, pair, h, stages, frame):
    """Write the nodes of the polynomial, the sums over the step, and what acts on the state at its end."""
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nv, nr = layout.nv, layout.nr
    width, first = REPORTED.first_contact + layout.nc, whole(settings.phase_at)
    last = whole(pair[PACKED_TABLE.step_stages]) - 1
    marks = frame.marks
    dense_nodes(model, pair, h, frame.ends, stages, frame.nodes, frame.node_forces, frame.sum_r, frame.sum_powers)
    marks.nodes, marks.end_known = SMOOTH_STEP.nodes, 1.0
    marks.table_at, marks.samples_at = settings[first + PHASE_PLACE.table], settings[first + PHASE_PLACE.sampled]
    copy(row_of(stages.K_v, last, nv), frame.a_last)
    copy(row_of(stages.K_r, last, nr), frame.r_last)
    copy(row_of(stages.K_p, last, width), frame.powers_last)
    return 0
