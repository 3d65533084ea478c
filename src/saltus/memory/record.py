"""What a step reports and the march keeps: columns of the table of events, their kinds, extra columns of nodes."""

from __future__ import annotations

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
EXTRA_INSIDE = 5  # extra columns of a node: the first one of what was found inside of steps
SMALLEST = 1e-14  # a step relative to its time and span: shorter ones are refused, shorter rests count as none
