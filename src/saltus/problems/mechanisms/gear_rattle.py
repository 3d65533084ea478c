"""Gear rattle: a loose wheel in mesh with a pinion whose speed swings; parameters our own."""

from __future__ import annotations

import numpy as np

from saltus.mechanics import Planar
from saltus.problem import Problem


def gear_rattle(
    *,
    backlash: float = 1e-4,
    amplitude: float = 0.01,
    frequency: float = 30.0,
    drag: float = 0.02,
    inertia: float = 2e-4,
    e: float = 0.7,
    t_end: float = 0.5,
) -> Problem:
    """q = (x, y, angle) of pinion and wheel; 20 and 40 teeth of module 2 mm.

    The pinion turns to and fro by amplitude [rad] at a frequency [Hz], as the swinging part of an engine's motion; the
    loose wheel with its inertia [kg m^2] and a drag [N m s/rad] against it follows through the backlash [m]. e [-] of
    the flanks, t_end [s].
    """
    w = Planar(0.0, name="gear_rattle")
    omega = 2.0 * np.pi * frequency
    pinion = w.body(mass=0.3, inertia=1e-4, name="pinion")
    wheel = w.body(mass=0.8, inertia=inertia, name="wheel")
    w.revolute(w.ground, pinion, name="input")
    w.revolute(w.ground.at(0.06, 0.0), wheel, name="output")
    w.drive(pinion, angle=lambda t: amplitude * np.sin(omega * t), name="engine")
    w.start(wheel, angle=0.0)
    w.force(lambda t, q, v: [[0.0, 0.0, -drag * v[0][2]]], wheel, name="drag")
    w.gear(pinion, wheel, teeth=(20, 40), module=0.002, backlash=backlash, e=e, name="mesh")
    return w.problem((0.0, t_end))
