"""Sine and cosine of many numbers at once, for lanes: within 1 unit of the last place for |x| <= LARGEST_ANGLE.

x = n pi/2 + r + s, pi/2 in three parts of which the first has 33 bits, so that n times it is exact; sine and cosine of
r, |r| <= pi/4, by their series, with s as a small correction. The C library rounds some of them otherwise, so that runs
with these have other last bits than runs alone.
"""

from __future__ import annotations

from math import factorial, pi
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saltus.ensemble.lanes_text import Code, Lane

LARGEST_ANGLE = 1e6  # up to there n has 20 bits
# pi / 2 = PI_FIRST + PI_SECOND + PI_THIRD: 33 bits, 33 bits, the rest (its digits: DLMF 3.12)
PI_FIRST = float(int(pi / 2 * 2.0**32)) * 2.0**-32
PI_OVER_TWO = 1_570796326794896619231321691639751442098584699687552910487  # times 10^-57
_LEFT = PI_OVER_TWO * 2**120 // 10**57 - int(PI_FIRST * 2.0**32) * 2**88  # behind PI_FIRST, times 2^120
PI_SECOND = float(_LEFT >> 54) * 2.0**-66
PI_THIRD = float(_LEFT - ((_LEFT >> 54) << 54)) * 2.0**-120
SINES = [(-1) ** k / factorial(2 * k + 1) for k in range(1, 9)]
COSINES = [(-1) ** k / factorial(2 * k) for k in range(2, 10)]


def _series(z: Lane, coefficients: list[float]) -> Lane:
    """Return c_0 + c_1 z + c_2 z^2 + ..."""
    total = z * coefficients[-1] + coefficients[-2]
    for coefficient in reversed(coefficients[:-2]):
        total = total * z + coefficient
    return total


def _reduced(code: Code, x: Lane) -> tuple[Lane, Lane, Lane]:
    """Return n mod 4 and the two parts of x - n pi/2."""
    n = code.intrinsic("llvm.rint.f64", x * (2.0 / pi))
    near = x - n * PI_FIRST
    step = n * PI_SECOND
    nearer = near - step
    lost = n * PI_THIRD - ((near - nearer) - step)
    r = nearer - lost
    quadrant = n - 4.0 * code.intrinsic("llvm.floor.f64", n * 0.25)
    return quadrant, r, (nearer - r) - lost


def _both(code: Code, r: Lane, s: Lane) -> tuple[Lane, Lane]:
    """Return sine and cosine of r + s."""
    z = r * r
    half = 0.5 * z
    rest = 1.0 - half
    sine_of = r + (s + (z * r * _series(z, SINES) - half * s))
    cosine_of = rest + (((1.0 - rest) - half) + (z * z * _series(z, COSINES) - r * s))
    return sine_of, cosine_of


def _turned(code: Code, x: Lane, ahead: float) -> Lane:
    """Return the sine of x + ahead pi/2, ahead 0 or 1."""
    quadrant, r, s = _reduced(code, x)
    sine_of, cosine_of = _both(code, r, s)
    turned = quadrant + ahead
    odd = turned.compared("oeq", 1.0) | turned.compared("oeq", 3.0)
    made = code.select(odd, cosine_of, sine_of)
    below = turned.compared("oeq", 2.0) | turned.compared("oeq", 3.0)
    return code.select(below, -made, made)


def sine(code: Code, x: Lane) -> Lane:
    """Return sin(x)."""
    return _turned(code, x, 0.0)


def cosine(code: Code, x: Lane) -> Lane:
    """Return cos(x) = sin(x + pi/2)."""
    return _turned(code, x, 1.0)
