"""A lane: all buffers that one thread needs for runs of a model, made once and used by every run."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from saltus.compile.pin import with_arrays
from saltus.compile.types import Control, Model, Nodes
from saltus.ensemble import records
from saltus.memory.layout import Layout
from saltus.memory.record import COLUMN
from saltus.reaction.look import FOUND
from saltus.run.march import CLOCK, MARCH, SUMS, TALLY, Marching, reaction_width
from saltus.schemes.plan import SchemePlan

EVENT_STEPS, NODE_ROWS, REACTION_ROWS = 32, 8, 4  # room of a lane's tables: they are emptied when they are full


@dataclasses.dataclass(frozen=True)
class Block:
    """Where the numbers of a lane stand: par, e, mu, e_t, settings of scheme and control, those of own reducers."""

    par: slice
    e: slice
    mu: slice
    e_t: slice
    settings: slice
    control: slice
    own: slice

    @classmethod
    def of(cls, units: Model, settings: np.ndarray, control: np.ndarray, own: int) -> Block:
        """Return the places for a model, a scheme, a control and some numbers of reducers."""
        sizes = [units.par.size, units.e.size, units.mu.size, units.e_t.size, settings.size, control.size, own]
        ends = np.cumsum([0, *sizes]).tolist()
        return cls(*(slice(a, b) for a, b in itertools.pairwise(ends)))

    @property
    def reset(self) -> int:
        """How many numbers, from the first on, kernels may write to."""
        return self.e_t.stop


class Lane:
    """The buffers of one thread.

    Attributes
    ----------
    model, scheme, control
        As the march takes them, with numbers of this lane's own block.
    numbers
        That block.
    record
        What the loop takes beside the buffers of the march.
    """

    def __init__(
        self, units: Model, pinned: Any, plan: SchemePlan, decide: Any, control_memory: int, block: Block,
        base: np.ndarray,
    ):  # fmt: skip
        layout: Layout = units.layout
        nq, nv, nr, nc = (int(getattr(layout, name)) for name in ("nq", "nv", "nr", "nc"))
        self.numbers = numbers = base.copy()
        self.model = with_arrays(
            pinned, par=numbers[block.par], e=numbers[block.e], mu=numbers[block.mu], e_t=numbers[block.e_t]
        )
        self.scheme = with_arrays(plan.pinned, settings=numbers[block.settings])
        self.control = Control(decide, numbers[block.control], np.zeros(max(1, control_memory)))
        self.clock = CLOCK(np.zeros(CLOCK.size))
        self.tally = TALLY(np.zeros(TALLY.size, dtype=np.int64))
        self.state, self.state_new, self.step = plan.state(layout), plan.state(layout), plan.record(layout)
        self.room = plan.work.allocate()
        width = reaction_width(nv, nr, nc)
        columns = (1, nq, nv, MARCH.ledger, MARCH.extras)
        self.nodes = Nodes(*(np.zeros(NODE_ROWS * size) for size in columns), np.zeros(REACTION_ROWS * width))
        self.events = np.zeros((EVENT_STEPS * plan.events + 1) * COLUMN.all)
        self.dense = np.zeros(NODE_ROWS * plan.dense + 1)
        self.times = np.array([np.nan])  # no time at which a state is kept
        self.sums = SUMS.plan({"inside": FOUND.all, "nr": nr, "nc": nc, "nv": nv}).allocate()
        self.decision = np.zeros(1)
        self.cursor = records.CURSOR(np.zeros(records.CURSOR.size, dtype=np.int64))
        self.record = records.Lane(
            numbers, self.room.floats, self.room.integers, self.state.floats, self.state_new.floats, self.sums.floats,
            self.cursor, np.zeros(nq + nv), np.zeros(1), np.zeros(nc + int(layout.nj)), np.zeros(int(layout.nw)),
            np.zeros(nr), np.zeros(int(layout.profile_size)),
        )  # fmt: skip

    @property
    def marching(self) -> tuple:
        """What the march takes, without its budget."""
        return (
            self.model, self.scheme, self.control, self.clock, self.tally,
            Marching(
                self.state, self.state_new, self.step, self.nodes, self.events, self.dense, self.times, self.sums,
                self.decision, self.room,
            ),
        )  # fmt: skip

    @property
    def bytes(self) -> int:
        """How much memory the buffers take."""
        rooms = self.state, self.state_new, self.step, self.sums, self.room
        arrays = [part for room in rooms for part in (room.floats, room.integers)]
        return sum(part.nbytes for part in (*arrays, *self.nodes, self.events, self.dense, self.numbers))
