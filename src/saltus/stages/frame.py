"""The frame of a flight: all vectors of one step, in one block of floats whose places are settings.

The parts of a flight (stages/flight.py) share it: every part takes the vectors that it needs by name.
"""

from __future__ import annotations

import numpy as np

from saltus.compile.seam import smaller, unit, vec, whole
from saltus.compile.types import A, F, I, J
from saltus.events.scan import scan_work
from saltus.events.zeno import zeno_work
from saltus.layout import NC, NE, NJ, NQ, NR, NS, NV, SIZE
from saltus.stages.hold import POWERS
from saltus.stages.interval import SETTINGS
from saltus.stages.look import inspect_work

# settings of a flight, behind those that all schemes with stages share: tolerances; speed of bounces that are followed
# to their accumulation [m/s], or FROM_PROMISE; drift allowed to what is held, over the tolerance; window of an impact =
# FACTOR * (step size)^POWER [s]; whether closings are forecast; flights of a run up to which each has the same share of
# the tolerance; way that a slip in space may go straight [m]; what the equations of motion may miss inside of a flight,
# over the tolerance, 0 where steps follow none (inspect.py); where the phase has its numbers, where the vectors of the
# frame begin, where the promise stands (promise.py)
(
    RTOL, ATOL, ZENO, DRIFT, WINDOW_FACTOR, WINDOW_POWER, ANTICIPATES, MANY, STRAIGHT, MISSES, PHASE_AT, PLACES_AT,
    PROMISE_AT,
) = range(SETTINGS, SETTINGS + 13)  # fmt: skip
FLIGHT_SETTINGS = SETTINGS + 13
FROM_PROMISE = -1.0

# ---- the promise of a run (promise.py): begin and length of its span [s]; then vectors of scales, those of q (nq), of
# v as intervals are judged, of v itself, of the coordinates that every velocity moves (nv each), of impulses (nr);
# behind them how far gaps reach into the coordinates (nq)
BEGIN, SPAN, SCALES = range(3)
POSITION_SCALE, SPEED_SCALE, VELOCITY_SCALE, PLACE_SCALE, PUSH_SCALE = range(5)

# ---- vectors of the frame
(
    KEPT, MARKS, MEMORY, Q_START, V_START, Q_END, V_END, V_NEW, Q_SHIFTED, V_TRY, A_TRY, SLOPE, MOVED, FORCE, A_LAST,
    R_LAST, POWERS_LAST, SUM_R, SUM_POWERS, GAPS, IMPULSE, U_MINUS, U_PLUS, U_FIRST, CORRECTED, P_ZENO, SPARE, INFO,
    SUMMARY, WEIGHTS, NODE_STATES, NODE_FORCES, NODE_SLIPS, MASS, SCAN, MICRO, IDLE, STRETCH, BOUNCES, Q_MIDDLE,
    V_MIDDLE, TIE_TOGETHER, TIE_BEFORE, TIE_AFTER, TIE_IMPULSE, TIE_U, TIE_U_AFTER, INSPECTED, PROOF, PHASE,
    INNER, FRAME,
) = range(52)  # fmt: skip

# ---- marks: numbers that the parts hand to each other
(
    NODES, TABLE_AT, SAMPLES_AT, EVENT_KIND, WHICH, PLACE, LENGTH, LIMIT, STILL, HOLDING, NEAR, JAMMED_SET, STOPPING,
    CROSSING, PENDING, END_KNOWN, WINDOW, USED, STRUCK, PIECES_USED, FORESEEN, LATE, ALLOWED, AHEAD, FARTHEST_AHEAD,
    SHARPER, UNRESOLVED, SWITCHED, MARK_COUNT,
) = range(29)  # fmt: skip
NOTHING, STRIKES, CROSSES = 0, 10, 11  # kinds of ends, beside those of events/transition.py

# ---- memory of a state: whether it is valid, the longest step so far, whether it ended with an event, how many flights
# led to it; then vectors
VALID, LONGEST, CHANGED, FLIGHTS, REMEMBERED = range(5)
# MOST_SPEED: largest velocities so far; PUSHED, MOST_PUSHED: impulses of all rows so far, and their largest; MODES of
# the switching functions (modes.py)
(
    INDEX, DIRECTION, A_BEGIN, R_BEGIN, U_BEGIN, POWERS_BEGIN, FIRED, LET_GO, LAST_VALUES, MOST_SPEED, PUSHED,
    MOST_PUSHED, MODES, PHASE_MEMORY,
) = range(14)  # fmt: skip

# ---- integers: nc of each, then what the scanners found, then those of the inner parts
(
    I_INDEX, I_BEFORE, I_CLOSED, I_RESTING, I_STOPPED, I_HELD, I_CANDIDATE, I_MEMBER, I_AHEAD, I_TIED, I_TRIAL,
    I_VECTORS,
) = range(12)  # fmt: skip
FOUND = 4

# ---- tasks of a phase: a step with its error estimate, the same for another size without it, the nodes of the last one
TRY, AGAIN, FILL = range(3)


def promise_size(layout) -> int:
    """Return how many numbers the promise has in the settings of a flight."""
    nq, nv, nr = (int(layout[k]) for k in (NQ, NV, NR))
    return SCALES + 2 * nq + 3 * nv + nr


def frame_sizes(layout, most_nodes: int, memory: int, proof: int, phase: int, inner: int) -> list[int]:
    """Return the sizes of the vectors of a frame, in their order."""
    nq, nv, nc, nj, nr, ne = (int(layout[k]) for k in (NQ, NV, NC, NJ, NR, NE))
    width = POWERS + nc
    return [
        2, MARK_COUNT, REMEMBERED + sum(memory_sizes(layout, memory)), nq, nv, nq, nv, nv, nq, nv, nv, nv, nv, nv, nv,
        nr, width, nr, width, nc + nj, nr, nr, nr, nr, nr, nr, width, 3,
        3, most_nodes, most_nodes * (2 * nq + 2 * nv), most_nodes * nr, most_nodes * nr, int(layout[SIZE]),
        scan_work(layout, most_nodes), zeno_work(layout), nv + nc + ne, most_nodes * (most_nodes + 1), nv, nq,
        nv, nv, nv, nv, nr, nr, nr, inspect_work(layout), proof, phase, inner,
    ]  # fmt: skip


def memory_sizes(layout, phase: int) -> list[int]:
    """Return the sizes of what a state remembers, behind its numbers."""
    nv, nc, nr, ne, ns = (int(layout[k]) for k in (NV, NC, NR, NE, NS))
    return [nc, 3 * nc, nv, nr, nr, POWERS + nc, ne, nc, ne, nv, nr, nr, ns, phase]


def places(layout, sizes: list[int], memory: int) -> np.ndarray:
    """Return where the vectors of the frame begin, with its end, then where those of the memory do."""
    inside = sizes[0] + sizes[1] + REMEMBERED
    return np.concatenate([np.cumsum([0, *sizes]), inside + np.cumsum([0, *memory_sizes(layout, memory)])]).astype(
        float
    )


@unit(A(A, A, I), small=True)
def part(settings, frame, name):
    """Return a vector of the frame."""
    at = whole(settings[PLACES_AT]) + name
    return vec(frame, whole(settings[at]), whole(settings[at + 1] - settings[at]))


@unit(A(A, A, I), small=True)
def remembered(settings, frame, name):
    """Return a vector of the memory of the state, which the frame holds while a step is made."""
    at = whole(settings[PLACES_AT]) + FRAME + 1 + name
    return vec(frame, whole(settings[at]), whole(settings[at + 1] - settings[at]))


@unit(A(J, A, I), small=True)
def promised(layout, settings, name):
    """Return a vector of scales of the promise."""
    nq, nv, nr, at = layout[NQ], layout[NV], layout[NR], whole(settings[PROMISE_AT]) + SCALES
    if name == POSITION_SCALE:
        return vec(settings, at, nq)
    if name == PUSH_SCALE:
        return vec(settings, at + nq + 3 * nv, nr)
    return vec(settings, at + nq + (name - SPEED_SCALE) * nv, nv)


@unit(F(J, A, F), small=True)
def slip_tolerance(layout, settings, share):
    """Return the absolute error that slips may have [m/s]: a share of the tolerance of the velocities."""
    speed = promised(layout, settings, SPEED_SCALE)
    least = speed[0]
    for i in range(layout[NV]):
        least = smaller(least, speed[i])
    return share * settings[ATOL] * least


@unit(F(A), small=True)
def span_of(settings):
    """Return the length of the whole span [s]."""
    return settings[whole(settings[PROMISE_AT]) + SPAN]
