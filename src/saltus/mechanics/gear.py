"""Gear pairs with backlash: both flanks of involute teeth, along the line of action.

With base radii r_a, r_b, R = r_a + r_b, the distance a of the axes, the direction gamma of the line from a to b and the
working pressure angle alpha, cos alpha = R / a, the play on both flanks is

    j/2 +- (r_a (theta_a - gamma) + r_b (theta_b - gamma) - phase) + R (inv alpha - inv alpha_0),  inv x = tan x - x.

Inside of a ring a, r_b counts negative, R = r_a - r_b, and an axis that moves away closes the flanks: the last term is
subtracted.

It is the true distance of the flanks along the line of action also where bearings let the axes move: an axis that
moves away by da opens both flanks by sin(alpha) da. Conjugate teeth hand the contact on without a step, so one row
serves all teeth of a flank; where they rub, the place of contact runs along the line of action and starts anew with
each tooth.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from saltus.errors import ModelError
from saltus.mechanics.body import number_of, place
from saltus.mechanics.scene import Outline, Point

# p = (a x, y, base radius a, b x, y, base radius b, half the backlash, R inv alpha_0, side, phase, base pitch,
#      1 for two wheels or -1 inside of a ring)
PHASE_AT = 9  # its place among them
LEAST_MORE = 8  # teeth that a ring of 20 degrees must have more than its wheel


def _mesh(q: Any, p: Any) -> tuple[Any, ...]:
    """Return the axis of a, the way to that of b, its direction, the pressure angle and its tangent."""
    (x, y), (u, w) = place(q[0], p[0], p[1]), place(q[1], p[3], p[4])
    dx, dy = u - x, w - y
    total = p[2] + p[5]
    tangent = np.sqrt(dx * dx + dy * dy - total * total) / total
    return x, y, dx, dy, np.arctan2(dy, dx), np.arctan(tangent), tangent


def flank(t: Any, q: Any, p: Any) -> Any:
    """Play on one flank along the line of action; side 1: the one that keeps a from turning back against b."""
    _, _, _, _, gamma, alpha, tangent = _mesh(q, p)
    way = p[2] * (q[0][2] - gamma) + p[5] * (q[1][2] - gamma) - p[PHASE_AT]
    return p[6] + p[8] * way + p[11] * ((p[2] + p[5]) * (tangent - alpha) - p[7])


def flank_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    """Slip of the teeth of a on those of b, at the place of the tooth that is nearest to the pitch point."""
    x, y, dx, dy, gamma, alpha, _ = _mesh(q, p)
    turn = gamma + p[11] * p[8] * alpha
    nx, ny = -p[8] * np.sin(turn), p[8] * np.cos(turn)  # force on a
    # the contact runs along the line of action as fast as the string of the base circle
    way = p[8] * p[2] * (q[0][2] - gamma) / p[10]
    s = p[10] * (way - np.floor(way) - 0.5)
    share = p[2] / (p[2] + p[5])
    px, py = x + share * dx + s * nx, y + share * dy + s * ny
    ux, uy = v[0][0] - v[0][2] * (py - q[0][1]), v[0][1] + v[0][2] * (px - q[0][0])
    wx, wy = v[1][0] - v[1][2] * (py - q[1][1]), v[1][1] + v[1][2] * (px - q[1][0])
    return ny * (ux - wx) - nx * (uy - wy)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GearData:
    """Numbers of a pair: base radii [m], that of a wheel inside of a ring negative, distance of the axes as drawn [m],
    base pitch [m], pressure angle [rad].
    """

    radii: tuple[float, float]
    distance: float
    pitch: float
    angle: float
    backlash: float

    def p(self, a: Point, b: Point, side: float) -> tuple[float, ...]:
        """Return the data of the row of one flank."""
        involute = sum(self.radii) * (math.tan(self.angle) - self.angle)
        kind = 1.0 if self.radii[1] > 0.0 else -1.0
        return (*a, self.radii[0], *b, self.radii[1], self.backlash / 2.0, involute, side, 0.0, self.pitch, kind)


def gear_data(
    teeth: Any, module: Any, backlash: Any, pressure_angle: Any, who: str, internal: bool = False
) -> GearData:
    """Return the numbers of a pair of gears, or say what is wrong with them; internal: b inside of the ring a."""
    if not isinstance(teeth, list | tuple) or len(teeth) != 2 or not all(_whole(z) for z in teeth):
        raise ModelError(f"teeth of {who} is {teeth!r}: give two whole numbers of at least 5, like (20, 40)")
    if not number_of(module, f"module of {who}") > 0.0:
        raise ModelError(f"module of {who} is {module!r}: it must be positive [m]")
    if not number_of(backlash, f"backlash of {who}") > 0.0:
        raise ModelError(f"backlash of {who} is {backlash!r}: it must be positive [m]; without any take coupling(...)")
    if not 0.0 < number_of(pressure_angle, f"pressure angle of {who}") < math.pi / 3.0:
        raise ModelError(
            f"pressure angle of {who} is {pressure_angle!r}: give an angle in rad, like 0.349 (20 degrees)"
        )
    if internal and not teeth[0] >= teeth[1] + LEAST_MORE:
        raise ModelError(
            f"teeth of {who} are {teeth}: the ring, which comes first, needs at least {LEAST_MORE} teeth more than the "
            "wheel inside of it, or they cross each other"
        )
    base, other = module * math.cos(pressure_angle) / 2.0, -teeth[1] if internal else teeth[1]
    made = GearData(
        radii=(base * teeth[0], base * other),
        distance=module * (teeth[0] + other) / 2.0,
        pitch=math.pi * module * math.cos(pressure_angle),
        angle=float(pressure_angle),
        backlash=float(backlash),
    )
    if not backlash < made.pitch / 2.0:
        raise ModelError(
            f"backlash of {who} is {backlash} m, more than half the base pitch {made.pitch:.4g} m: no teeth left"
        )
    return made


def _whole(z: Any) -> bool:
    return isinstance(z, int) and not isinstance(z, bool) and z >= 5


def mesh_phase(a: Point, b: Point, radii: tuple[float, float]) -> Any:
    """Return the function of the start that puts the teeth in the middle of their play."""

    def phase(t: float, q: Any) -> float:
        (x, y), (u, w) = place(q[0], *a), place(q[1], *b)
        gamma = math.atan2(w - y, u - x)
        return radii[0] * (q[0][2] - gamma) + radii[1] * (q[1][2] - gamma)

    return phase


def wheel(centre: Point, teeth: int, module: float, first: float, *, ring: bool = False) -> Outline:
    """Return the outline of a wheel: its teeth drawn as trapezoids, the first one in a direction [rad].

    ring: the teeth of the outline are the gaps of a ring, whose material is outside.
    """
    r, corners = module * teeth / 2.0, []
    for k in range(teeth):
        for share, high in ((-0.27, -1.2), (-0.13, 1.0), (0.13, 1.0), (0.27, -1.2)):
            angle = first + 2.0 * math.pi * (k + share) / teeth
            corners.append(
                (centre[0] + (r + high * module) * math.cos(angle), centre[1] + (r + high * module) * math.sin(angle))
            )
    return Outline(kind="polygon", points=tuple(corners), solid=not ring)
