"""What a step reports and the march keeps: columns of the table of events, their kinds, extra columns of nodes."""

from __future__ import annotations

from typing import NamedTuple


class _Column(NamedTuple):
    """Columns of an event row, and how many there are."""

    # columns of an event row: t, contact (user event k: contacts + k), kind, then (N, T1, T2) of u_minus, u_plus and
    # impulse, then the number of impacts that the row stands for and the energy that an impact gave [J]
    t: int = 0
    contact: int = 1
    kind: int = 2
    before: int = 3
    after: int = 6
    impulse: int = 9
    impacts: int = 12
    energy: int = 13
    all: int = 14


COLUMN = _Column()


class _Event(NamedTuple):
    """Kinds of events, in the order of KIND_NAMES."""

    impact: int = 0
    closing: int = 1
    release: int = 2
    stick: int = 3
    slip: int = 4
    painleve: int = 5
    user: int = 6
    accumulation: int = 7
    reversal: int = 8
    gain: int = 9
    tie: int = 10
    not_unique: int = 11
    switch: int = 12


EVENT = _Event()

KIND_NAMES = (
    "impact", "closing", "release", "stick", "slip", "painleve", "event", "zeno", "reversal", "gain", "tie",
    "not unique", "switch",
)  # fmt: skip


class _Recorded(NamedTuple):
    """Tuned numbers of this file."""

    events_per_contact: int = 2  # a step can close a contact and find it sticking
    extra_inside: int = 5  # extra columns of a node: the first one of what was found inside of steps
    # a step relative to its time and span: shorter ones are refused, shorter rests count as none
    smallest: float = 1e-14


RECORDED = _Recorded()
