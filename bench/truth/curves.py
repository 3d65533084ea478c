"""Curve: a function of one number in smooth pieces, with derivatives, each piece defined beyond its ends as well.

References integrate piece after piece and hold the piece while a step looks beyond its end; what the models of saltus
say is written again, in numpy or plain Python, by those who draw them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
from scipy.interpolate import PPoly

Piece = Callable  # x -> (value, slope, curvature), for numbers and arrays
SAME = 1e-9  # of the largest: derivatives that differ by less do not jump
SMOOTH = 3  # order of a knot at which value, slope and curvature go on


def polynomial(at: float, *coefficients: float) -> Piece:
    """sum coefficients[k] (x - at)^k."""
    first = tuple(k * c for k, c in enumerate(coefficients))[1:]
    second = tuple(k * c for k, c in enumerate(first))[1:]

    def summed(terms, s):
        made = 0.0 * s
        for c in reversed(terms):
            made = made * s + c
        return made

    return lambda x: (summed(coefficients, x - at), summed(first, x - at), summed(second, x - at))


def cosine(amplitude: float, omega: float, phase: float, offset: float = 0.0) -> Piece:
    """offset + amplitude cos(omega x + phase)."""

    def piece(x):
        c, s = amplitude * np.cos(omega * x + phase), amplitude * np.sin(omega * x + phase)
        return offset + c, -omega * s, -omega * omega * c

    return piece


def bell(amplitude: float, middle: float, width: float) -> Piece:
    """amplitude exp(-((x - middle) / width)^2)."""

    def piece(x):
        z = (x - middle) / width
        value = amplitude * np.exp(-z * z)
        return value, -2.0 * z / width * value, (4.0 * z * z - 2.0) / width**2 * value

    return piece


def resonance(amplitude: float, middle: float, width: float) -> Piece:
    """amplitude / (1 + ((x - middle) / width)^2)."""

    def piece(x):
        z = (x - middle) / width
        low = 1.0 / (1.0 + z * z)
        slope = -2.0 * z * low**2 / width
        return amplitude * low, amplitude * slope, amplitude * (8.0 * z * z * low - 2.0) * low**2 / width**2

    return piece


def cubed(piece: Piece) -> Piece:
    """The third power of a piece."""

    def made(x):
        c, slope, curvature = piece(x)
        return c**3, 3.0 * c * c * slope, 6.0 * c * slope**2 + 3.0 * c * c * curvature

    return made


def added(one: Piece, two: Piece) -> Piece:
    """The sum of two pieces."""
    return lambda x: tuple(a + b for a, b in zip(one(x), two(x), strict=True))


@dataclasses.dataclass(frozen=True)
class Curve:
    """pieces[k] holds between knots[k - 1] and knots[k]."""

    knots: tuple[float, ...]
    pieces: tuple[Piece, ...]

    def __post_init__(self):
        assert len(self.pieces) == len(self.knots) + 1
        assert all(a < b for a, b in itertools.pairwise(self.knots))

    def cell(self, x: float) -> int:
        return int(np.searchsorted(self.knots, x, side="right"))

    def __call__(self, x):
        """Values at numbers or arrays."""
        x = np.asarray(x, dtype=float)
        cells = np.searchsorted(self.knots, x, side="right")
        made = np.zeros(x.shape)
        for k in np.unique(cells):
            made[cells == k] = self.pieces[k](x[cells == k])[0]
        return made

    def order(self, k: int) -> int:
        """Which derivative jumps at knot k: 0 the value, 1 the slope, 2 the curvature, SMOOTH none of them."""
        x = self.knots[k]
        around = [abs(x - self.knots[j]) for j in (k - 1, k + 1) if 0 <= j < len(self.knots)]
        length = min(around, default=1.0)
        left, right = self.pieces[k](x), self.pieces[k + 1](x)
        near = (left, right, self.pieces[k](x - length / 2.0), self.pieces[k + 1](x + length / 2.0))
        size = max(abs(float(values[n])) * length**n for values in near for n in range(SMOOTH))
        for n, (a, b) in enumerate(zip(left, right, strict=True)):
            if abs(a - b) * length**n > SAME * size:
                return n
        return SMOOTH

    def __add__(self, other: Curve) -> Curve:
        knots = sorted({*self.knots, *other.knots})
        inside = [knots[0] - 1.0, *knots, knots[-1] + 1.0] if knots else [0.0, 0.0]
        middles = [(a + b) / 2.0 for a, b in itertools.pairwise(inside)]
        pieces = tuple(added(self.pieces[self.cell(x)], other.pieces[other.cell(x)]) for x in middles)
        return Curve(tuple(knots), pieces)

    def repeated(self, period: float, first: int, last: int) -> Curve:
        """The curve over (0, period) for periods first to last - 1; they meet at knots."""
        assert not self.knots or (self.knots[0] > 0.0 and self.knots[-1] < period)
        knots, pieces = [], []
        for n in range(first, last):
            if n > first:
                knots.append(n * period)
            knots += [n * period + knot for knot in self.knots]
            pieces += [_shifted(piece, n * period) for piece in self.pieces]
        return Curve(tuple(knots), tuple(pieces))


def _shifted(piece: Piece, shift: float) -> Piece:
    return lambda x: piece(x - shift)


ZERO = polynomial(0.0, 0.0)


def smooth(piece: Piece, *marks: float) -> Curve:
    """One piece everywhere; at the marks nothing changes, but no step of the reference passes over them."""
    return Curve(tuple(marks), (piece,) * (len(marks) + 1))


def marked_bell(amplitude: float, middle: float, width: float, piece=bell) -> Curve:
    """A bell that no step passes over."""
    return smooth(
        piece(amplitude, middle, width), *(middle + width * s for s in (-7.0, -3.0, -1.0, 0.0, 1.0, 3.0, 7.0))
    )


def between(a: float, b: float, piece: Piece, outside: Piece = ZERO) -> Curve:
    """A piece between a and b, another one outside."""
    return Curve((a, b), (outside, piece, outside))


def lines(x: list[float], y: list[float], *, ends: bool = True) -> Curve:
    """Straight lines through points; constant beyond them, as np.interp does, or (ends=False) going on."""
    slopes = np.diff(y) / np.diff(x)
    pieces = [polynomial(a, c, slope) for a, c, slope in zip(x[:-1], y[:-1], slopes.tolist(), strict=True)]
    if not ends:
        return Curve(tuple(x[1:-1]), tuple(pieces))
    return Curve(tuple(x), (polynomial(x[0], y[0]), *pieces, polynomial(x[-1], y[-1])))


def of_spline(spline: PPoly) -> Curve:
    """A piecewise polynomial of scipy, which goes on beyond its ends."""
    x, c = spline.x.tolist(), spline.c[::-1].T.tolist()
    return Curve(tuple(x[1:-1]), tuple(polynomial(a, *row) for a, row in zip(x[:-1], c, strict=True)))


def stairs(edges: list[float], levels: list[float]) -> Curve:
    """levels[k] between edges[k - 1] and edges[k]."""
    return Curve(tuple(edges), tuple(polynomial(0.0, level) for level in levels))
