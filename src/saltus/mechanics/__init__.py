"""Mechanisms in the words of engineers: bodies, joints, clearances, forces; `Planar` makes an ordinary Problem of them.

Lengths in m, masses in kg, angles in rad, forces in N, times in s.
"""

from saltus.mechanics.assemble import Assembly
from saltus.mechanics.body import Anchor, Body
from saltus.mechanics.cam import Cam, DwellLift
from saltus.mechanics.drives import ramp
from saltus.mechanics.planar import Planar
from saltus.mechanics.scene import Scene
from saltus.mechanics.shapes import Bar, Box, Circle, Plane, Polygon

__all__ = [
    "Anchor",
    "Assembly",
    "Bar",
    "Body",
    "Box",
    "Cam",
    "Circle",
    "DwellLift",
    "Planar",
    "Plane",
    "Polygon",
    "Scene",
    "ramp",
]
