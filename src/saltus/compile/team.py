"""A team of threads inside one kernel: barriers on shared integers.

Every member calls the same kernel with its number. Members meet at barriers; one that waits too long lets others run,
so that more members than cores are slow, not stuck. Raising the flag STOP releases everybody.
"""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import I, J

STOP, ARRIVED = 8, 16  # places in the shared integers, on cache lines of their own
SHARED = 32
SPINS = 3000  # looks for the others before the core is offered to others, some 50 us


# ---- the interpreted meaning: a team of one


def add_shared(shared, place, value):
    """Add to a shared integer and return what it was before; all writes before it are seen by who reads it."""
    before = shared[place]
    shared[place] += value
    return before


def read_shared(shared, place):
    """Return a shared integer; what was written before it was set is visible afterwards."""
    return shared[place]


def give_way(patiently):
    """Let another thread run: a hint to the core, or the rest of the time slice."""
    return 0


@unit(I(J, I))
def meet(shared, members):
    """Wait until all members are here; returns 0, or 1 where the team was stopped."""
    if members == 1:
        return 0
    arrived, spins = add_shared(shared, ARRIVED, 1), 0
    full = arrived - arrived % members + members
    while read_shared(shared, ARRIVED) < full:
        if read_shared(shared, STOP) != 0:
            return 1
        spins += 1
        give_way(1 if spins > SPINS else 0)
    return 0
