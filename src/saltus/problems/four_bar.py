"""Four-bar linkage with one clearance joint (joint model: Ravn 1998; parameters our own)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, Joint, System

from ._sketches import four_bar as sketch

GUARD = 1e-6  # of the clearance: rounds the tip of |d| at d = 0, moves a closed gap by GUARD^2/2 clearances


def four_bar(
    *,
    crank: float = 0.05,
    coupler: float = 0.12,
    rocker: float = 0.10,
    ground: float = 0.14,
    masses: tuple[float, float, float] = (0.1, 0.25, 0.2),
    clearance: float = 2e-4,
    journal: float = 5e-3,
    gravity: float = 9.81,
    torque: float = 0.05,
    angle: float = 0.6,
    speed: float = 20.0,
    e: float = 0.5,
    mu: float = 0.1,
    t_end: float = 0.5,
) -> Problem:
    """q = (x, y, phi) of crank, coupler and rocker; three pins are ideal joints.

    The pin coupler-rocker has clearance: gap = clearance - |d|, d from the bearing (rocker) to the journal
    (coupler).
    It starts centred, with positions and velocities of the ideal linkage.
    crank, coupler, rocker, ground lengths [m], masses of the homogeneous bars [kg], clearance and journal
    radii [m], gravity [m/s^2], torque on the crank [N m], angle [rad] and speed [rad/s] of the crank at the
    start, e, mu [-], t_end [s].
    """
    bars = (crank, coupler, rocker)
    lengths = np.array(bars)
    bearing = journal + clearance
    q0, v0 = _ideal_linkage(lengths, ground, angle, speed)

    def tip(q, bar: int, side: float):
        """End of a bar; side = -1 start, 1 end."""
        x, y, phi = q[3 * bar], q[3 * bar + 1], q[3 * bar + 2]
        half = side * bars[bar] / 2.0
        return x + half * np.cos(phi), y + half * np.sin(phi)

    def tip_velocity(q, v, bar: int, side: float):
        vx, vy, omega, phi = v[3 * bar], v[3 * bar + 1], v[3 * bar + 2], q[3 * bar + 2]
        half = side * bars[bar] / 2.0
        return vx - half * np.sin(phi) * omega, vy + half * np.cos(phi) * omega

    def crank_pin(q):
        x, y = tip(q, 0, -1.0)
        return [x, y]

    def coupler_pin(q):
        (x0, y0), (x1, y1) = tip(q, 0, 1.0), tip(q, 1, -1.0)
        return [x0 - x1, y0 - y1]

    def rocker_pin(q):
        x, y = tip(q, 2, -1.0)
        return [x - ground, y]

    def eccentricity(q):
        """Vector from bearing to journal and its guarded length."""
        (xj, yj), (xb, yb) = tip(q, 1, 1.0), tip(q, 2, 1.0)
        dx, dy = xj - xb, yj - yb
        return dx, dy, np.sqrt(dx * dx + dy * dy + (GUARD * clearance) ** 2)

    def gap(q):
        return clearance - eccentricity(q)[2]

    def slip(t, q, v):
        dx, dy, distance = eccentricity(q)
        (vxj, vyj), (vxb, vyb) = tip_velocity(q, v, 1, 1.0), tip_velocity(q, v, 2, 1.0)
        across = (dx * (vyj - vyb) - dy * (vxj - vxb)) / distance
        return across + journal * v[5] - bearing * v[8]

    inertia = np.array(masses) * lengths**2 / 12.0
    weight = [[0.0, -mass * gravity, 0.0] for mass in masses]
    weight[0][2] = torque
    system = System(
        M=np.diag(np.column_stack([masses, masses, inertia]).ravel()),
        f=np.ravel(weight),
        contacts=[Contact(gap, e=e, mu=mu, slip=slip, name="journal")],
        joints=[
            Joint(crank_pin, name="crank pin"),
            Joint(coupler_pin, name="coupler pin"),
            Joint(rocker_pin, name="rocker pin"),
        ],
        name="four_bar",
        scene=sketch(bars, ground),
    )
    return Problem(system, (0.0, t_end), q0, v0, name="four_bar")


def _ideal_linkage(
    lengths: NDArray, ground: float, angle: float, speed: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions and velocities of the bars of the linkage without clearance, open branch (coupler above)."""
    pin = lengths[0] * np.array([np.cos(angle), np.sin(angle)])
    pivot = np.array([ground, 0.0])
    span = pivot - pin
    reach = np.hypot(*span)
    along = (reach**2 + lengths[1] ** 2 - lengths[2] ** 2) / (2.0 * reach)
    if abs(along) >= lengths[1]:
        raise ModelError(f"four_bar does not close at angle = {angle}: pins {reach:.4g} m apart; change the lengths")
    across = np.sqrt(lengths[1] ** 2 - along**2)
    joint = pin + (along * span + across * np.array([-span[1], span[0]])) / reach
    starts, ends = np.array([[0.0, 0.0], pin, pivot]), np.array([pin, joint, joint])
    arms = ends - starts
    phi = np.arctan2(arms[:, 1], arms[:, 0])
    turned = np.column_stack([-arms[:, 1], arms[:, 0]])
    # the journal follows both bars: speed turned_0 + omega_1 turned_1 = omega_2 turned_2
    omega = np.linalg.solve(np.column_stack([-turned[1], turned[2]]), speed * turned[0])
    omega = np.array([speed, *omega])
    base = np.array([[0.0, 0.0], speed * turned[0], [0.0, 0.0]])
    velocities = base + omega[:, None] * turned / 2.0
    q0 = np.column_stack([(starts + ends) / 2.0, phi]).ravel()
    return q0, np.column_stack([velocities, omega]).ravel()
