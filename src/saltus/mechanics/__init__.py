"""Mechanisms in the words of engineers: bodies, joints, clearances, forces; `Planar` makes an ordinary Problem of them.

Lengths in m, masses in kg, angles in rad, forces in N, times in s.
"""

from saltus.mechanics.assemble import Assembly
from saltus.mechanics.body import Anchor, Body
from saltus.mechanics.cam import Cam, DwellLift
from saltus.mechanics.drives import ramp
from saltus.mechanics.lagrangian import Lagrangian
from saltus.mechanics.planar import Planar
from saltus.mechanics.scene import Scene
from saltus.mechanics.shapes import Bar, Box, Circle, Plane, Polygon
from saltus.mechanics.statics import Equilibrium, Modes, equilibrium, modes

__all__ = [
    "Anchor",
    "Assembly",
    "Bar",
    "Body",
    "Box",
    "Cam",
    "Circle",
    "DwellLift",
    "Equilibrium",
    "Lagrangian",
    "Modes",
    "Planar",
    "Plane",
    "Polygon",
    "Scene",
    "equilibrium",
    "modes",
    "ramp",
]


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
