"""The start of a run: positions outside of the contacts, joints satisfied in position and velocity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from saltus.compile.native import runnable
from saltus.errors import ModelError
from saltus.problem import Problem

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel

LARGEST_SLOPE = 1e150  # of a gap: kernels divide by squares


def check_start(problem: Problem, model: CompiledModel, tolerance: float) -> None:
    """Raise ModelError when q0 penetrates, a joint is violated, or joints contradict each other."""
    if tolerance in model.checked:
        return
    t, q, v = problem.t_span[0], problem.q0.copy(), problem.v0.copy()
    layout, units = model.layout, model.units
    nc, nj, nr, nv = int(layout.nc), int(layout.nj), int(layout.nr), int(layout.nv)
    g = model.__dict__.get("gaps_at_start")
    if g is None:
        g = np.full(nc + nj, np.nan)
        runnable(units.gap)(t, q, units.par, g)
    for name, gap in zip(problem.system.contact_names, g, strict=False):
        if gap < -tolerance:
            raise ModelError(
                f"q0 violates contact {name!r}: g = {gap:.3e} < 0 at t = {t:g}; move q0 out of the contact, "
                f"allow it by solve(..., start_tolerance={_allowing(gap):.1g}), or write a mechanism of bodies, whose "
                "assemble() finds a start"
            )
    if nr == 0 or (nj == 0 and model.rows_checked):
        model.checked.add(tolerance)
        return
    W, w = np.full(int(layout.nw), np.nan), np.full(nr, np.nan)
    runnable(units.kinematics)(t, q, units.par, W, w)
    dense = np.zeros((nr, nv))
    for r in range(nr):
        begin, end = layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]
        dense[r, layout[layout.W_col + begin : layout.W_col + end]] = W[begin:end]
    slopes = np.abs(dense).max(axis=1, initial=0.0).tolist()
    for c, name in enumerate(problem.system.contact_names):
        slope = slopes[layout[layout.contact_row + c]]
        if LARGEST_SLOPE < slope < np.inf or 0.0 < slope < 1.0 / LARGEST_SLOPE:
            raise ModelError(
                f"gap of contact {name!r} changes by {slope:.3g} per unit of q at t = {t:g}: the square of that is no "
                "number; measure the gap in other units"
            )
    object.__setattr__(model, "rows_checked", True)
    if nj == 0:
        model.checked.add(tolerance)
        return
    G, w = dense[nr - nj :], w[nr - nj :]
    names = [
        name for name, size in zip(problem.system.joint_names, model.joint_sizes, strict=True) for _ in range(size)
    ]
    scale = np.linalg.norm(G, axis=1, keepdims=True)
    _check_consistent(G / np.where(scale > 0.0, scale, 1.0), w / np.where(scale[:, 0] > 0.0, scale[:, 0], 1.0), names)
    for name, value, u in zip(names, g[nc:], G @ v + w, strict=True):
        if abs(value) > tolerance:
            raise ModelError(
                f"q0 violates joint {name!r}: constraint = {value:.3e} at t = {t:g}, not 0; move q0 onto the joint, "
                f"allow it by solve(..., start_tolerance={_allowing(value):.1g}), or write a mechanism of bodies, "
                "whose assemble() closes its joints"
            )
        if abs(u) > tolerance * max(1.0, float(np.max(np.abs(v)))):
            raise ModelError(
                f"v0 violates joint {name!r}: it moves at {u:.3e} at t = {t:g}, not 0; choose v0 along the joints"
            )
    model.checked.add(tolerance)


def _allowing(value: float) -> float:
    """Return a tolerance of one digit that lets a violation pass."""
    unit = 10.0 ** np.floor(np.log10(abs(value)))
    return float((np.floor(abs(value) / unit) + 1.0) * unit)


def _check_consistent(G: np.ndarray, w: np.ndarray, names: list[str]) -> None:
    """Raise when no velocity satisfies G v + w = 0."""
    if not w.any():
        return  # rest does
    v, *_ = np.linalg.lstsq(G, -w, rcond=1e-10)
    left = np.abs(G @ v + w)
    if np.max(left) > 1e-8 * max(1.0, float(np.max(np.abs(w)))):
        bad = sorted({name for name, value in zip(names, left, strict=True) if value > 1e-9 * np.max(left)})
        raise ModelError(f"joints {', '.join(map(repr, bad))} contradict each other: no velocity satisfies all of them")
