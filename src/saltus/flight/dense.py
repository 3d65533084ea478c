"""Dense output of the Galerkin schemes, from the blocks that their steps store (reaction/dense_block.py).

A block: number of pieces and of stages, nq, nv, number of rows, whether q_dot is not v, time of the start; the forces
of the state there. For every piece its place in the step, q and v at its beginning, accelerations and forces of the
stages, and the rates q_dot of the stages where q_dot is not v. At the end the forces of the state there, its right
limit.
The velocity is the integral of the polynomial through all stage accelerations: it ends in the left limit and is one
order better than the interpolated stage velocities.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from saltus.errors import DamagedFileError
from saltus.reaction.dense_block import DENSE_HEADER, PIECE_HEADER
from saltus.tables.tableau import Tableau

SHAPES = 1 << 16  # more than any step has stages, so that pieces and stages make one number


class _Weights(NamedTuple):
    """Weights of stage values at places x of an interval (n, stages): value, integral and double integral from 0."""

    value: np.ndarray
    once: np.ndarray
    twice: np.ndarray


@functools.lru_cache(maxsize=256)
def _series(made: Tableau) -> _Weights:
    """Return the Legendre series of the value, the integral over x and the double integral over x^2.

    Integrals without their factors x keep their relative precision at the beginning of an interval.
    """
    x = 0.5 + 0.5 * legendre.leggauss(made.stages)[0]
    inverse = np.linalg.inv(legendre.legvander(2.0 * x - 1.0, made.stages - 1))
    once, twice = made.integrals(x)
    return _Weights(inverse @ made.interpolation(x), inverse @ (once / x[:, None]), inverse @ (twice / x[:, None] ** 2))


def _weights(made: Tableau, x: np.ndarray, *wanted: str) -> list[np.ndarray]:
    """Return the wanted ones of the weights at places x."""
    basis, factors = legendre.legvander(2.0 * x - 1.0, made.stages - 1), {"value": 1.0, "once": x, "twice": x * x}
    # einsum, because for thin matrices the threads of a matrix product cost more than they save
    series = _series(made)
    return [
        np.einsum("nk,kj->nj", basis, getattr(series, name)) * np.reshape(factors[name], (-1, 1)) for name in wanted
    ]


@dataclasses.dataclass(frozen=True)
class _Steps:
    """Steps of one shape, and for each of them the piece that is asked for."""

    rows: np.ndarray  # which of the steps
    made: Tableau
    places: np.ndarray  # (n, pieces, 2) where pieces begin and end
    q: np.ndarray  # (n, pieces, nq), as the others below
    v: np.ndarray
    a: np.ndarray  # (n, pieces, stages, nv)
    r: np.ndarray
    q_dot: np.ndarray | None
    r_start: np.ndarray  # (n, rows)
    r_end: np.ndarray
    which: np.ndarray  # the piece
    x: np.ndarray  # the place in it, 0 to 1
    length: np.ndarray  # its duration [s], (n, 1)

    def mine(self, parts: np.ndarray) -> np.ndarray:
        """Return the parts of the pieces that are asked for."""
        return parts[:, 0] if parts.shape[1] == 1 else parts[np.arange(len(self.which)), self.which]


def _headers(block: np.ndarray) -> np.ndarray:
    """Return the whole numbers that say what blocks of one size hold; a file may say what cannot be."""
    headers = block[:, : DENSE_HEADER - 1]
    if headers.shape[1] < DENSE_HEADER - 1:
        raise DamagedFileError("dense output lacks the numbers that describe it: was its file changed?")
    with np.errstate(over="ignore", invalid="ignore"):
        pieces, stages, nq, nv, nr, own_rate = headers.T
        piece = PIECE_HEADER + nq + nv + stages * (nv + nr + nq * own_rate)
        # halves of a doubled step have room for the largest block
        fits = DENSE_HEADER + 2.0 * nr + pieces * piece <= block.shape[1]
        fits &= (pieces >= 1.0) & (stages >= 1.0) & np.all((headers >= 0.0) & (headers == np.floor(headers)), axis=1)
        fits &= np.all(headers[:, 2:] == headers[0, 2:], axis=1)
    if not fits.all():
        raise DamagedFileError(
            "dense output is described by numbers that do not belong together: was its file changed?"
        )
    return headers.astype(int)


def _steps(tableaux: list[Tableau], s, h, block, side, **sizes: int) -> Iterator[_Steps]:
    """Yield steps of one shape after the other; sizes: those of nq, nv, nr that are known otherwise."""
    known, headers = {one.stages: one for one in tableaux}, _headers(block)
    stored: dict[str, int] = dict(zip(("nq", "nv", "nr"), headers[0, 2:5].tolist(), strict=True))
    if not set(headers[:, 1].tolist()) <= set(known) or any(stored[name] != size for name, size in sizes.items()):
        raise DamagedFileError("dense output is of another scheme or system than the run: was its file changed?")
    # the other numbers of the header are the same in a whole run
    shapes, first_of, group = np.unique(SHAPES * block[:, 0] + block[:, 1], return_index=True, return_inverse=True)
    bits = 4.0 * np.finfo(float).eps * (1.0 + np.abs(block[:, DENSE_HEADER - 1 : DENSE_HEADER]) / h)
    for k in range(len(shapes)):
        pieces, stages, nq, nv, nr, own_rate = headers[first_of[k]]
        rows = np.flatnonzero(group == k)
        widths = [2, nq, nv, stages * nv, stages * nr, stages * nq * own_rate]
        ends = np.cumsum(widths)
        first, last = DENSE_HEADER + nr, DENSE_HEADER + nr + pieces * ends[-1]
        body = block[rows, first:last].reshape(len(rows), pieces, ends[-1])
        places, q, v, a, r, q_dot = np.split(body, ends[:-1], axis=2)
        inner = places[:, :-1, 1]
        # the place of a border is known to rounding only
        which = np.sum(s[rows] > inner + bits[rows] if side == "-" else s[rows] >= inner - bits[rows], axis=1)
        begin, stop = (places[np.arange(len(rows)), which, i][:, None] for i in (0, 1))
        # a piece of a few roundings may have no length: then its end is asked for
        width, shape = stop - begin, (len(rows), pieces, stages)
        yield _Steps(
            rows, known[stages], places, q, v, a.reshape(*shape, nv), r.reshape(*shape, nr),
            q_dot.reshape(*shape, nq) if own_rate else None, block[rows, DENSE_HEADER:first],
            block[rows, last : last + nr], which,
            np.where(width > 0.0, (s[rows] - begin) / np.where(width > 0.0, width, 1.0), 1.0)[:, 0], width * h[rows],
        )  # fmt: skip


def interpolate(tableaux: list[Tableau], s, h, start, end, block, side) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v at places s (n, 1) in steps of size h (n, 1)."""
    q, v = np.empty_like(start.q), np.empty_like(start.v)
    for steps in _steps(tableaux, s, h, block, side, nq=q.shape[1], nv=v.shape[1]):
        made, x, length = steps.made, steps.x, steps.length
        q_0, v_0, a = steps.mine(steps.q), steps.mine(steps.v), steps.mine(steps.a)
        once, twice = _weights(made, x, "once", "twice")
        v[steps.rows] = v_0 + length * _combined(once, a)
        if steps.q_dot is None:
            middle = q_0 + length * x[:, None] * v_0 + length**2 * _combined(twice, a)
            reached = q_0 + length * v_0 + length**2 * _combined(_weights(made, np.ones(1), "twice")[0], a)
        else:
            q_dot = steps.mine(steps.q_dot)
            middle = q_0 + length * _combined(once, q_dot)
            reached = q_0 + length * _combined(made.b[None], q_dot)
        # the end of a piece is the beginning of the next one, or the node
        ends = np.concatenate([steps.q[:, 1:], end.q[steps.rows][:, None]], axis=1)
        # what rounding, superconvergence and projection add is closed by a cubic without slope at both ends
        q[steps.rows] = middle + (x * x * (3.0 - 2.0 * x))[:, None] * (steps.mine(ends) - reached)
    return q, v


def interpolate_stages(tableaux: list[Tableau], s, h, start, end, block, side) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v at places s (n, 1): v through the stage velocities, q its integral; (33), (34) of the source.

    The impulse at the end of a step is v - v_minus there; what a projection adds to v counts as a part of it.
    """
    q, v = np.empty_like(start.q), np.empty_like(start.v)
    for steps in _steps(tableaux, s, h, block, side, nq=q.shape[1], nv=v.shape[1]):
        made, x, length, rows = steps.made, steps.x, steps.length, steps.rows
        q_0, v_0, a, last = steps.mine(steps.q), steps.mine(steps.v), steps.mine(steps.a), steps.q.shape[1] - 1
        if made.degree == 0:
            v[rows] = start.v[rows] if made.family == "-" else end.v[rows]
            q[rows] = start.q[rows] + x[:, None] * (end.q[rows] - start.q[rows])
            continue
        jump = np.where((steps.which == last)[:, None], end.v[rows] - end.v_minus[rows], 0.0)
        stages = v_0[:, None] + length[:, :, None] * np.einsum("lk,nkj->nlj", made.Av, a)
        stages += made.P[:, None] * jump[:, None]
        value, once = _weights(made, x, "value", "once")
        v[rows] = _combined(value, stages)
        rates = stages if steps.q_dot is None else steps.mine(steps.q_dot)
        reached = q_0 + length * _combined(made.b[None], rates)
        ends = np.concatenate([steps.q[:, 1:], end.q[rows][:, None]], axis=1)
        q[rows] = q_0 + length * _combined(once, rates) + x[:, None] * (steps.mine(ends) - reached)
    return q, v


def reaction(tableaux: list[Tableau], s, h, block, rows, side) -> tuple[np.ndarray, np.ndarray]:
    """Return the forces of all rows at s and their integral since the beginning of the step."""
    force, impulse = np.zeros((len(s), rows)), np.zeros((len(s), rows))
    for steps in _steps(tableaux, s, h, block, side, nr=rows):
        made, mine = steps.made, steps.mine(steps.r)
        value, once = _weights(made, steps.x, "value", "once")
        durations = (steps.places[:, :, 1] - steps.places[:, :, 0]) * h[steps.rows]
        sums = np.cumsum(durations[:, :, None] * np.einsum("k,npkj->npj", made.b, steps.r), axis=1)
        before = steps.mine(np.concatenate([np.zeros_like(sums[:, :1]), sums], axis=1))
        force[steps.rows] = _combined(value, mine)
        impulse[steps.rows] = before + steps.length * _combined(once, mine)
        if side == "+":  # stages at the ends of an interval may be less accurate than the states there
            for place, known in ((0.0, steps.r_start), (1.0, steps.r_end)):
                there = s[steps.rows, 0] == place
                force[steps.rows[there]] = known[there]
    return force, impulse


def window_start(block: np.ndarray, t_end: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return where the window of an impact begins that ends a step, the end of the step where there is none."""
    last_of_first = block[np.arange(len(block)), DENSE_HEADER + _headers(block)[:, 4] + 1]
    return np.where(block[:, 0] == 2, t_end - h * (1.0 - last_of_first), t_end)


def acceleration(tableaux: list[Tableau], s, h, block, side) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return v_dot at places s, the number of the piece that each of them lies in, and its duration [s]."""
    made, piece, duration = np.empty((len(s), _headers(block)[0, 3])), np.empty(len(s), dtype=int), np.empty(len(s))
    for steps in _steps(tableaux, s, h, block, side):
        (value,) = _weights(steps.made, steps.x, "value")
        made[steps.rows] = _combined(value, steps.mine(steps.a))
        piece[steps.rows], duration[steps.rows] = steps.which, steps.length[:, 0]
    return made, piece, duration


def _combined(weights: np.ndarray, stages: np.ndarray) -> np.ndarray:
    """Return stage values (n, stages, size) combined by weights (n or 1, stages)."""
    return np.einsum("nk,nkj->nj", np.broadcast_to(weights, stages.shape[:2]), stages)
