"""What a step reports: places in the header, columns of the event table, kinds of events, counters."""

from __future__ import annotations

# header of a step record; impulse, dissipation and residual are written only where REACTED is 1
H_USED, ERROR, VIOLATION, RESIDUAL, DEGREE, FORCE_WORK, DRIVE_WORK, DENSE_USED, EVENTS_USED, REACTED = range(10)
TERMINAL = 10  # a step sets it to 1 to end the run; the march clears it before each step
# of doubled steps, in units of the tolerance (1 is as large as it), 0 where there is none: depth that a contact gained;
# and what it means that an impact lies anywhere in its step, for the position and for the velocity
PENETRATION, MISPLACED, DELAYED = 11, 12, 13
NEXT_H = 14  # length that a scheme proposes for its next step, also for one that is rejected
INSIDE = 15  # what flights found inside of them, in the order of stages/look.py; the march clears it before each step
HEADER_SIZE = 19

# counters of a run
FORCE_CALLS, JACOBIAN_CALLS, ITERATIONS, SWEEPS = range(4)
COUNTERS = 4

# columns of an event row: t, contact (user event k: contacts + k), kind, then (N, T1, T2) of u_minus, u_plus and
# impulse, then the number of impacts that the row stands for and the energy that an impact gave [J]
EVENT_T, EVENT_CONTACT, EVENT_KIND, EVENT_BEFORE, EVENT_AFTER, EVENT_IMPULSE, EVENT_COUNT = 0, 1, 2, 3, 6, 9, 12
EVENT_ENERGY = 13
EVENT_COLUMNS = 14
IMPACT, CLOSING, RELEASE, STICK, SLIP, PAINLEVE, EVENT, ACCUMULATION, REVERSAL, GAIN, TIE, NOT_UNIQUE, SWITCH = range(
    13
)
KIND_NAMES = (
    "impact", "closing", "release", "stick", "slip", "painleve", "event", "zeno", "reversal", "gain", "tie",
    "not unique", "switch",
)  # fmt: skip
EVENTS_PER_CONTACT = 2  # a step can close a contact and find it sticking
