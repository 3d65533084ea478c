"""Mechanisms in the words of engineers: bodies, joints, clearances, forces; `Planar` makes an ordinary Problem of them.

Lengths in m, masses in kg, angles in rad, forces in N, times in s.
"""

from saltus.mechanics.assemble import Assembly
from saltus.mechanics.body import Anchor, Body
from saltus.mechanics.drives import ramp
from saltus.mechanics.planar import Planar
from saltus.mechanics.scene import Scene

__all__ = ["Anchor", "Assembly", "Body", "Planar", "Scene", "ramp"]
