"""The frame of a flight: all vectors of one step, in one block of floats whose places are settings.

The parts of a flight (stages/flight.py) share it: every part takes the vectors that it needs by name.
"""

from __future__ import annotations

import numpy as np

from saltus.compile.seam import unit, vec, whole
from saltus.compile.types import A, I
from saltus.events.scan import scan_work
from saltus.events.zeno import zeno_work
from saltus.layout import NC, NE, NJ, NQ, NR, NV, SIZE
from saltus.stages.hold import POWERS
from saltus.stages.interval import SETTINGS

# settings of a flight, behind those that all schemes with stages share: tolerances; speed of bounces that are followed
# to their accumulation [m/s]; drift allowed to what is held, over the tolerance; window of an impact = FACTOR * (step
# size)^POWER [s]; whether closings are forecast; where the phase has its numbers; whether error estimates count
RTOL, ATOL, ZENO, DRIFT, WINDOW_FACTOR, WINDOW_POWER, ANTICIPATES, PHASE_AT, PLACES_AT = range(SETTINGS, SETTINGS + 9)
FLIGHT_SETTINGS = SETTINGS + 9

# ---- vectors of the frame
(
    KEPT, MARKS, MEMORY, Q_START, V_START, Q_END, V_END, V_NEW, Q_SHIFTED, V_TRY, A_TRY, SLOPE, MOVED, FORCE, A_LAST,
    R_LAST, POWERS_LAST, SUM_R, SUM_POWERS, GAPS, IMPULSE, U_MINUS, U_PLUS, U_FIRST, CORRECTED, P_ZENO, SPARE, INFO,
    SUMMARY, WEIGHTS, NODE_STATES, NODE_FORCES, NODE_SLIPS, MASS, SCAN, MICRO, IDLE, STRETCH, TIE_TOGETHER, TIE_BEFORE,
    TIE_AFTER, TIE_IMPULSE, TIE_U, TIE_U_AFTER, PHASE, INNER, FRAME,
) = range(47)  # fmt: skip

# ---- marks: numbers that the parts hand to each other
(
    NODES, TABLE_AT, SAMPLES_AT, EVENT_KIND, WHICH, PLACE, LENGTH, LIMIT, STILL, HOLDING, NEAR, JAMMED_SET, STOPPING,
    CROSSING, PENDING, END_KNOWN, WINDOW, USED, STRUCK, PIECES_USED, FORESEEN, LATE, ALLOWED,
) = range(23)  # fmt: skip
MARK_COUNT = 23
NOTHING, STRIKES, CROSSES = 0, 10, 11  # kinds of ends, beside RELEASED, STOPPED, BROKE of events/transition.py

# ---- memory of a state: whether it is valid, the longest step so far, whether it ended with an event; then vectors
VALID, LONGEST, CHANGED, REMEMBERED = range(4)
INDEX, DIRECTION, A_BEGIN, R_BEGIN, U_BEGIN, POWERS_BEGIN, FIRED, LET_GO, LAST_VALUES, PHASE_MEMORY = range(10)

# ---- integers: nc of each, then what the scanners found, then those of the inner parts
I_INDEX, I_BEFORE, I_CLOSED, I_RESTING, I_STOPPED, I_HELD, I_CANDIDATE, I_MEMBER, I_TIED, I_TRIAL, I_VECTORS = range(11)
FOUND = 4

# ---- tasks of a phase: a step with its error estimate, the same for another size without it, the nodes of the last one
TRY, AGAIN, FILL = range(3)


def frame_sizes(layout, most_nodes: int, memory: int, phase: int, inner: int) -> list[int]:
    """Return the sizes of the vectors of a frame, in their order."""
    nq, nv, nc, nj, nr, ne = (int(layout[k]) for k in (NQ, NV, NC, NJ, NR, NE))
    width = POWERS + nc
    return [
        2, MARK_COUNT, REMEMBERED + sum(memory_sizes(layout, memory)), nq, nv, nq, nv, nv, nq, nv, nv, nv, nv, nv, nv,
        nr, width, nr, width, nc + nj, nr, nr, nr, nr, nr, nr, width, 3,
        3, most_nodes, most_nodes * (2 * nq + 2 * nv), most_nodes * nr, most_nodes * nr, int(layout[SIZE]),
        scan_work(layout, most_nodes), zeno_work(layout), nv + nc + ne, most_nodes * (most_nodes + 1), nv, nv,
        nv, nr, nr, nr, phase, inner,
    ]  # fmt: skip


def memory_sizes(layout, phase: int) -> list[int]:
    """Return the sizes of what a state remembers, behind its numbers."""
    nv, nc, nr, ne = (int(layout[k]) for k in (NV, NC, NR, NE))
    return [nc, 3 * nc, nv, nr, nr, POWERS + nc, ne, nc, ne, phase]


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
