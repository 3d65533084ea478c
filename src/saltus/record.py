"""What a step reports: places in the header, columns of the event table, kinds of events, counters."""

from __future__ import annotations

# header of a step record; impulse, dissipation and residual are written only where REACTED is 1
H_USED, ERROR, VIOLATION, RESIDUAL, DEGREE, FORCE_WORK, DRIVE_WORK, DENSE_USED, EVENTS_USED, REACTED = range(10)
HEADER_SIZE = 10

# counters of a run
FORCE_CALLS, JACOBIAN_CALLS, ITERATIONS, SWEEPS = range(4)
COUNTERS = 4

# columns of an event row: t, contact, kind, then (N, T1, T2) of u_minus, u_plus and impulse
EVENT_T, EVENT_CONTACT, EVENT_KIND, EVENT_BEFORE, EVENT_AFTER, EVENT_IMPULSE = 0, 1, 2, 3, 6, 9
EVENT_COLUMNS = 12
IMPACT, CLOSING, RELEASE, STICK, SLIP, PAINLEVE = range(6)
KIND_NAMES = ("impact", "closing", "release", "stick", "slip", "painleve")
EVENTS_PER_CONTACT = 2  # a step can close a contact and find it sticking
