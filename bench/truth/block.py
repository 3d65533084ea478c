"""A block that translates on a plate: sticks, slips, stops, flies and lands without bounce; phases in closed form.

The plate may move up and down by plate(t), and along the floor by belt(t); the pull acts along the floor, the lift
upwards. Friction is Coulomb's, an impact its counterpart for impulses. All data are Signals, so that within a phase
velocities and places are exact integrals; only the times between phases are roots, found to rounding.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from reference import Reference, Unfit, alike, first_crossing
from signals import ZERO, Path, Signal, constant

CHANGE, REACH = 1e-8, 300.0  # data changed by CHANGE may move the end by REACH times it
PHASES = 200  # more of them within a span are no figure of accuracy
STICK, SLIP_FORTH, SLIP_BACK, FLIGHT = "stick", "slip+", "slip-", "flight"


@dataclasses.dataclass(frozen=True)
class Block:
    """mass [kg], gravity [m/s^2], mu [-], pull and lift [N], plate and belt [m], speed [m/s] at the start."""

    mass: float
    gravity: float = 9.81
    mu: float = 0.0
    pull: Signal = ZERO
    lift: Signal = ZERO
    plate: Signal = ZERO
    belt: Signal = ZERO
    speed: float = 0.0

    @property
    def pressing(self) -> Signal:
        """Normal force while it stays on the plate [N]."""
        return self.mass * self.plate.derivative().derivative() + constant(self.mass * self.gravity) - self.lift

    @property
    def holding(self) -> Signal:
        """Friction while it sticks [N]."""
        return self.mass * self.belt.derivative().derivative() - self.pull


def walked(block: Block, span: float) -> Reference:
    """Return the motion from rest on the plate; q = (along, up), total impulse the same two directions."""
    made = Reference()
    m, mu, N, T = block.mass, block.mu, block.pressing, block.holding
    belt_speed, plate_speed = block.belt.derivative(), block.plate.derivative()
    drive_x, drive_z = block.pull.integral(), (block.lift - constant(m * block.gravity)).integral()
    start_velocity = np.array([block.speed, float(plate_speed.at(0.0))])

    def on_plate(t: float, slip: float) -> str:
        if float(N.at(t)) <= 0.0:
            return FLIGHT
        if slip != 0.0:
            return SLIP_FORTH if slip > 0.0 else SLIP_BACK
        excess = abs(float(T.at(t))) - mu * float(N.at(t))
        if excess <= 0.0:
            return STICK
        return SLIP_BACK if float(T.at(t)) > 0.0 else SLIP_FORTH

    t, place, velocity = 0.0, np.array([0.0, float(block.plate.at(0.0))]), start_velocity.copy()
    mode = on_plate(t, velocity[0] - float(belt_speed.at(0.0)))
    while t < span:
        if mode == STICK:
            along, up = block.belt.derivative().derivative(), block.plate.derivative().derivative()
            guards = [N.at, (mu * N - T).at, (mu * N + T).at]
        elif mode == FLIGHT:
            along, up = block.pull * (1.0 / m), block.lift * (1.0 / m) - constant(block.gravity)
            guards = []
        else:
            sign = 1.0 if mode == SLIP_FORTH else -1.0
            along, up = (block.pull - sign * mu * N) * (1.0 / m), block.plate.derivative().derivative()
            guards = [N.at]
        paths = Path(t, place[0], velocity[0], along), Path(t, place[1], velocity[1], up)
        if mode == FLIGHT:
            guards = [lambda s, path=paths[1]: path.place(s) - block.plate.at(s)]
        elif mode != STICK and mu > 0.0:
            guards.append(lambda s, path=paths[0], sign=sign: sign * (path.velocity(s) - belt_speed.at(s)))
        found = first_crossing(guards, t, span, span)
        end = span if found is None else found[0]

        def motion(s, paths=paths):
            v = np.stack([path.velocity(s) for path in paths], axis=-1)
            q = np.stack([path.place(s) for path in paths], axis=-1)
            return q, v, m * (v - start_velocity) - np.stack([drive_x.at(s), drive_z.at(s)], axis=-1)

        made.add(t, end, motion, mode)
        if found is None:
            break
        if len(made.pieces) > PHASES:
            raise Unfit(f"more than {PHASES} phases")
        t = end
        place, velocity = (part[0].copy() for part in motion(np.array([t]))[:2])
        if mode == FLIGHT:
            approach = velocity[1] - float(plate_speed.at(t))
            slip = velocity[0] - float(belt_speed.at(t))
            rubbed = min(mu * m * -approach, m * abs(slip))
            left = slip - np.sign(slip) * rubbed / m if rubbed < m * abs(slip) else 0.0
            place[1], velocity[1] = float(block.plate.at(t)), float(plate_speed.at(t))
            velocity[0] = left + float(belt_speed.at(t))
            mode = on_plate(t, left)
        elif found[1] == 0:
            mode = FLIGHT
        elif mode == STICK:
            mode = SLIP_BACK if found[1] == 1 else SLIP_FORTH
        else:
            velocity[0] = float(belt_speed.at(t))
            mode = on_plate(t, 0.0)
    return made


def block_motion(block: Block, span: float) -> Reference:
    """Return the motion of a block, or raise Unfit where it depends too much on its data."""
    made = walked(block, span)
    other = dataclasses.replace(
        block, mu=block.mu * (1.0 + CHANGE), pull=block.pull * (1.0 + CHANGE), lift=block.lift * (1.0 + CHANGE)
    )
    alike(made, walked(other, span), CHANGE, REACH)
    return made
