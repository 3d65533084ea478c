"""Reference: a motion known without our integrators, piece after piece, with the total impulse of its contacts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

SAMPLES = 4000  # places at which guards are looked at between two events
CLOSEST = 1e-5  # of the span: events of a reference that follow each other faster are not told apart
NOISE = 1e-12  # of a guard: what leaves zero with a small power of time is rounding at first
ROOT = 4.0 * np.finfo(float).eps  # relative accuracy of the time of an event


class Unfit(Exception):
    """The drawn motion is no measure of accuracy: it grazes, ties or jumps with its data. Draw another one."""


@dataclasses.dataclass
class Reference:
    """Pieces (start, end, motion); motion(t) -> q (n, nq), v (n, nv), total impulse (n, rows).

    `kinks` are switching surfaces that the motion crosses, `again` makes the motion with other steps and tolerances,
    `magnified` says how many times a small change of the data comes out of it.
    """

    pieces: list[tuple[float, float, Callable]] = dataclasses.field(default_factory=list)
    modes: list[str] = dataclasses.field(default_factory=list)
    kinks: list = dataclasses.field(default_factory=list)
    again: Callable | None = None
    magnified: float = 1.0

    def add(self, start: float, end: float, motion: Callable, mode: str = "") -> None:
        self.pieces.append((start, end, motion))
        self.modes.append(mode)

    @property
    def breaks(self) -> np.ndarray:
        return np.array([piece[0] for piece in self.pieces] + [self.pieces[-1][1]])

    def __call__(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        t = np.asarray(t, dtype=float)
        which = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.pieces) - 1)
        made: list[np.ndarray] | None = None
        for k in np.unique(which):
            mine = which == k
            parts = [np.asarray(part, dtype=float) for part in self.pieces[k][2](t[mine])]
            if made is None:
                made = [np.zeros((len(t), part.shape[1])) for part in parts]
            for all_rows, part in zip(made, parts, strict=True):
                all_rows[mine] = part
        assert made is not None
        return made[0], made[1], made[2]


def first_crossing(guards: list[Callable], start: float, end: float, span: float) -> tuple[float, int] | None:
    """Return when the first guard, positive behind `start`, becomes negative, and which one; None: none does."""
    near = start + span * CLOSEST * 2.0 ** np.arange(12)
    grid = np.concatenate([near[near < end], np.linspace(start, end, SAMPLES)[1:]])
    grid = np.unique(grid[grid >= min(start + span * CLOSEST, end)])
    found: tuple[float, int] | None = None
    for k, guard in enumerate(guards):
        values = np.asarray(guard(grid), dtype=float)
        if values[0] < -NOISE:
            raise Unfit(f"guard {k} is negative right behind t = {start}")
        low = np.flatnonzero(values < -NOISE)
        if len(low) == 0:
            continue
        j = low[0]
        while j > 1 and values[j - 1] <= 0.0:
            j -= 1
        if values[j - 1] <= 0.0:
            raise Unfit(f"guard {k} never leaves zero behind t = {start}")
        t = brentq(lambda s, guard=guard: float(guard(np.array([s]))[0]), grid[j - 1], grid[j], xtol=1e-300, rtol=ROOT)
        if found is None or t < found[0]:
            found = float(t), k
    return found


def alike(one: Reference, two: Reference, change: float, reach: float) -> None:
    """Raise Unfit where data changed by `change` lead to other phases, or move the end by more than reach times it."""
    if one.modes != two.modes:
        raise Unfit("a small change of the data changes the phases")
    end = np.array([one.breaks[-1]])
    moved = max(float(np.abs(a - b).max() / (1.0 + np.abs(a).max())) for a, b in zip(one(end), two(end), strict=True))
    moved = max(moved, float(np.abs(one.breaks - two.breaks).max()))
    if moved > reach * change:
        raise Unfit(f"a change of the data by {change:g} moves the end by {moved:g}")
