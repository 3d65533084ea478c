"""Motions made of pieces (flights, slides, rests in turn), found when they are first looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from saltus.problem import Exact


class Motion(NamedTuple):
    """q (n, nq), v (n, nv) and accumulated impulse (n, rows) at n times."""

    q: np.ndarray
    v: np.ndarray
    impulse: np.ndarray


class Piece(NamedTuple):
    """Motion from `start` [s] until the next piece starts, as a function of the times (n,) since then."""

    start: float
    motion: Callable[[np.ndarray], Motion]
    jump: bool  # whether v jumps at the start


class Pieces:
    """A right-continuous motion; `find` runs once, when a value or a jump is first asked for."""

    def __init__(self, find: Callable[[], Iterable[Piece]]) -> None:
        self.find = find

    @cached_property
    def table(self) -> list[Piece]:
        return list(self.find())

    @cached_property
    def jumps(self) -> np.ndarray:
        return np.array([piece.start for piece in self.table if piece.jump])

    def at(self, t) -> Motion:
        """Evaluate at times of any shape; the values have one axis more."""
        t = np.asarray(t, float)
        times = t.ravel()
        starts = [piece.start for piece in self.table]
        owner = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
        found: Motion | None = None
        for k in np.unique(owner):
            mine = owner == k
            part = self.table[k].motion(times[mine] - starts[k])
            if found is None:
                found = Motion(*(np.empty((t.size, x.shape[-1])) for x in part))
            for whole, x in zip(found, part, strict=True):
                whole[mine] = x
        if found is None:  # no times: the shapes are still known
            found = Motion(*(x[:0] for x in self.table[0].motion(np.zeros(1))))
        return Motion(*(x.reshape((*t.shape, x.shape[-1])) for x in found))

    def exact(self) -> Exact:
        return Exact(lambda t: self.at(t).q, lambda t: self.at(t).v, lambda t: self.at(t).impulse, jumps=_Jumps(self))


class _Jumps(Sequence):
    """The jump times of a motion that may not have been found yet."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def __len__(self) -> int:
        return len(self._pieces.jumps)

    def __getitem__(self, index):
        return self._pieces.jumps[index]
