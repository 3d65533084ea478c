"""One look at a state: does it keep its equations of motion, its gaps and its contact laws?

Polynomials keep what they were made for, at their nodes. Between them a force may have pulsed, a wall may have moved, a
contact may pull: here the equations of motion, all gaps and all contact forces are evaluated at a place of the motion
itself, whoever made it. Flights look at a few places of every interval (flight/inspect.py), the certificate of a run
everywhere (saltus/certificate.py).
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import head, larger, tail, unit
from saltus.compile.types import LAYOUT, MODEL, A, F, I
from saltus.laws import hardest
from saltus.memory.profile import factor, multiply, solve
from saltus.reaction.react import row_dot


class _Found(NamedTuple):
    """What is found at a place, see saltus/certificate.py."""

    # what is found at a place: see saltus/certificate.py
    defect: int = 0
    violation: int = 1
    excess: int = 2
    load: int = 3
    all: int = 4


FOUND = _Found()


def look_work(layout) -> int:
    """Return the floats that `look_at` needs."""
    nv, nc, nj, nr = int(layout.nv), int(layout.nc), int(layout.nj), int(layout.nr)
    return int(layout.profile_size) + int(layout.nw) + nr + 3 * nv + nc + nj


def inspect_work(layout) -> int:
    """Return the floats that a flight needs to look inside (flight/inspect.py)."""
    nq, nv, nr = int(layout.nq), int(layout.nv), int(layout.nr)
    return nq + 3 * nv + nr + FOUND.all + look_work(layout)


@unit(I(MODEL, F, A, A, A, A, F, I, A, A, A))
def look_at(model, t, q, v, a, r, duration, closes, scale, work, found):
    """Write defect, violation, excess and load of one state.

    in      a, r: its acceleration and forces; duration: of its interval [s], 0 asks for no defect and evaluates no
            force; closes: 1 where a contact that carries a force has to be closed, not only not to be passed;
            scale: of the velocities, what a defect is relative to
    work    see `look_work`
    """
    layout, par = model.layout, model.par
    nv, nc, nj, nr, size, nw = layout.nv, layout.nc, layout.nj, layout.nr, layout.profile_size, layout.nw
    M, W, w = head(work, size), head(tail(work, size), nw), head(tail(work, size + nw), nr)
    at = size + nw + nr
    f, missing, rest = head(tail(work, at), nv), head(tail(work, at + nv), nv), head(tail(work, at + 2 * nv), nv)
    g = head(tail(work, at + 3 * nv), nc + nj)
    for i in range(FOUND.all):
        found[i] = 0.0
    if duration > 0.0:
        model.mass(t, q, par, M)
        model.force(t, q, v, par, f)
        for i in range(nv):
            missing[i] = 0.0
        multiply(layout, M, a, missing)
        for i in range(nv):
            missing[i] -= f[i]
    if nr > 0 and duration > 0.0:
        model.kinematics(t, q, par, W, w)
        for i in range(nr):
            spread_row(layout, W, i, -r[i], missing)
        for c in range(nc):
            row = layout[layout.contact_row + c]
            square = row_square(layout, W, row)
            if r[row] != 0.0 and square > 0.0:
                found[FOUND.load] = larger(found[FOUND.load], abs(row_dot(layout, W, row, f)) / square)
    if duration > 0.0:
        status = factor(layout, M)
        if status != 0:
            return status
        solve(layout, M, missing, missing, rest)
        for i in range(nv):
            missed = duration * abs(missing[i]) / scale[i]
            # a defect below 1e-14 is rounding of its evaluation, and counts as none; what is not a number must not pass
            if not missed <= larger(found[FOUND.defect], 1e-14):
                found[FOUND.defect] = missed
    if nc + nj > 0:
        model.gap(t, q, par, g)
    for j in range(nc + nj):
        depth = abs(g[j])
        if j < nc:
            row, end = layout[layout.contact_row + j], layout[layout.contact_row + j + 1]
            if closes == 0 or r[row] == 0.0:
                depth = -g[j]
            friction = hardest(layout[layout.kind + j], row, end - row, r)
            outside = larger(-r[row], friction - model.mu[j] * r[row])
            if not outside <= found[FOUND.excess]:
                found[FOUND.excess] = outside
            found[FOUND.load] = larger(found[FOUND.load], larger(abs(r[row]), friction))
        if not depth <= found[FOUND.violation]:
            found[FOUND.violation] = depth
    return 0


@unit(I(LAYOUT, A, I, F, A), small=True)
def spread_row(layout, W, row, force, out):
    """Add (row of W) force to generalised forces."""
    columns = layout.W_col
    for k in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
        out[layout[columns + k]] += W[k] * force
    return 0


@unit(F(LAYOUT, A, I), small=True)
def row_square(layout, W, row):
    """Return (row of W) . (row of W)."""
    total = 0.0
    for k in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
        total += W[k] * W[k]
    return total
