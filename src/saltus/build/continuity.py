"""Continuity: whether the motion depends continuously on its data at a position (Paoli 2005, conditions H'4 and H'5).

With J the contacts closed at q and gradients W of their gaps, uniqueness of the reflected velocity and continuity need
(H'4) gradients that are independent, (H'5) W_i^T M^-1 W_j <= 0 for e = 0 and = 0 for e > 0, for all pairs in J.
"""

from __future__ import annotations

import dataclasses
from math import acos, degrees

import numpy as np

from saltus.build.model import compile_model
from saltus.compile.native import runnable
from saltus.errors import SettingError
from saltus.system import System

RANK_TOLERANCE = 1e-10  # singular value relative to the largest below which gradients count as dependent
ANGLE_TOLERANCE = 1e-9  # |cosine| up to which an angle counts as right


@dataclasses.dataclass(frozen=True)
class CornerPair:
    """Two closed contacts and the kinetic angle [rad] between the gradients of their gaps."""

    first: str
    second: str
    angle: float
    allowed: bool


@dataclasses.dataclass(frozen=True)
class Continuity:
    """Paoli's conditions at one position; `str()` says them in words.

    Attributes
    ----------
    t
        Time [s] at which gaps and masses were taken.
    closed
        Names of the closed contacts.
    independent
        H'4: the gradients of the closed contacts are independent, of each other and of the joints.
    pairs
        The pairs of closed contacts with their kinetic angles; a pair is `allowed` by H'5 when its angle is right,
        or obtuse with e = 0 at both. Joints count: directions that they forbid do not enter the angle.
    friction
        Whether a closed contact has friction, of which the conditions know nothing.
    """

    t: float
    closed: tuple[str, ...]
    independent: bool
    pairs: tuple[CornerPair, ...]
    friction: bool

    @property
    def violating(self) -> tuple[CornerPair, ...]:
        """The pairs that violate H'5."""
        return tuple(pair for pair in self.pairs if not pair.allowed)

    @property
    def continuous(self) -> bool:
        """Whether both conditions hold, so that the motion depends continuously on the data here."""
        return self.independent and not self.violating

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.closed)) or "none"
        lines = [f"Closed contacts at t = {self.t:g}: {names}."]
        verb = "are" if self.independent else "are not"
        lines.append(f"H'4: their gradients {verb} linearly independent.")
        lines.append(f"H'5: {'violated by' if self.violating else 'the kinetic angles of all pairs are allowed.'}")
        for pair in self.violating:
            lines.append(f"  {pair.first!r} and {pair.second!r}: kinetic angle {degrees(pair.angle):.6g} degrees")
        if self.continuous:
            lines.append("The motion depends continuously on the data here.")
        else:
            lines.append("The motion may not depend continuously on the data: close starts can lead far apart.")
        if self.friction:
            lines.append("A closed contact has friction; the conditions are proven without.")
        return "\n".join(lines)


def continuity(system: System, t: float, q: np.ndarray, v: np.ndarray, closed_tolerance: float) -> Continuity:
    """Check the conditions at (t, q) on contacts with gaps up to closed_tolerance [m]; v only brings its size."""
    if not closed_tolerance >= 0.0:
        raise SettingError(f"closed_tolerance is {closed_tolerance}: it must be a length of zero or more [m]")
    model = compile_model(system, t, q, v)
    layout, units = model.layout, model.units
    nv, nc, nj, nr = int(layout.nv), int(layout.nc), int(layout.nj), int(layout.nr)
    g, W, w = np.empty(nc + nj), np.empty(int(layout.nw)), np.empty(nr)
    M = np.empty(int(layout.profile_size))
    runnable(units.gap)(t, q, units.par, g)
    runnable(units.kinematics)(t, q, units.par, W, w)
    runnable(units.mass)(t, q, units.par, M)
    rows = np.zeros((nr, nv))
    for r in range(nr):
        begin, end = layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]
        rows[r, layout[layout.W_col + begin : layout.W_col + end]] = W[begin:end]
    closed = [c for c in range(nc) if g[c] <= closed_tolerance]
    # in coordinates L^T v with M = L L^T the kinetic metric is Euclid's
    L = np.linalg.cholesky(model.profile.unpack(M))
    normal = np.linalg.solve(L, rows[[layout[layout.contact_row + c] for c in closed]].T)
    normal -= _joint_part(np.linalg.solve(L, rows[nr - nj :].T), normal)
    return Continuity(
        t=float(t),
        closed=tuple(system.contact_names[c] for c in closed),
        independent=_rank(_unit(normal)) == len(closed),
        pairs=_pairs(system, closed, _unit(normal)),
        friction=any(system.laws()[c, 1] > 0.0 for c in closed),
    )


def _joint_part(joints: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return what the directions that the joints forbid contribute to the gradients."""
    if joints.shape[1] == 0:
        return np.zeros_like(normal)
    basis, values, _ = np.linalg.svd(joints, full_matrices=False)
    basis = basis[:, values > RANK_TOLERANCE * values[0]]
    return basis @ (basis.T @ normal)


def _unit(columns: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(columns, axis=0)
    # a gradient that vanishes, alone or behind the joints, is left as zero: it is dependent
    return columns / np.where(lengths > RANK_TOLERANCE * max(1.0, lengths.max(initial=0.0)), lengths, np.inf)


def _rank(columns: np.ndarray) -> int:
    values = np.linalg.svd(columns, compute_uv=False) if columns.size else np.zeros(0)
    return int(np.sum(values > RANK_TOLERANCE * values[0])) if values.size and values[0] > 0.0 else 0


def _pairs(system: System, closed: list[int], normal: np.ndarray) -> tuple[CornerPair, ...]:
    pairs = []
    for i, first in enumerate(closed):
        for j in range(i + 1, len(closed)):
            second = closed[j]
            cosine = float(np.clip(normal[:, i] @ normal[:, j], -1.0, 1.0))
            plastic = system.contacts[first].e == 0.0 and system.contacts[second].e == 0.0
            allowed = cosine <= ANGLE_TOLERANCE if plastic else abs(cosine) <= ANGLE_TOLERANCE
            names = system.contact_names
            pairs.append(CornerPair(names[first], names[second], acos(cosine), allowed))
    return tuple(pairs)
