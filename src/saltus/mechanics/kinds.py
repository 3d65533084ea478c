"""Built-in kinds: what `python -m saltus.compile.build` compiles with the package, so that no mechanism compiles it.

Every entry of EXAMPLES puts one joint, force or pair between two points; it is tried between two bodies, and with the
ground on either side. What the engine writes for them is compiled under the digest of its text (compile/texts.py): a
mechanism of the same kinds finds its machine code there, whatever it is composed of. A kind that is missing here is
compiled when it is first met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from saltus.build.families import texts_of
from saltus.errors import ModelError
from saltus.mechanics.planar import Planar
from saltus.mechanics.shapes import Bar, Box, Circle, Plane

Example = Callable[[Planar, Any, Any], Any]

EXAMPLES: dict[str, Example] = {
    "no joint": lambda w, a, b: None,
    "revolute": lambda w, a, b: w.revolute(a, b),
    "revolute with stops": lambda w, a, b: w.revolute(a, b, stops=(-1.0, 1.0)),
    "journal": lambda w, a, b: w.revolute(a, b, clearance=1e-4, radius=0.01, e=0.5),
    "journal with friction": lambda w, a, b: w.revolute(a, b, clearance=1e-4, radius=0.01, e=0.5, mu=0.1),
    "prismatic": lambda w, a, b: w.prismatic(a, b),
    "prismatic with stops": lambda w, a, b: w.prismatic(a, b, stops=(-1.0, 1.0)),
    "guide": lambda w, a, b: w.prismatic(a, b, clearance=1e-4, length=0.1, height=0.05, e=0.5),
    "guide with friction": lambda w, a, b: w.prismatic(a, b, clearance=1e-4, length=0.1, height=0.05, mu=0.1),
    "slot": lambda w, a, b: w.slot(a, b),
    "slot with stops": lambda w, a, b: w.slot(a, b, stops=(-1.0, 1.0)),
    "slot with play": lambda w, a, b: w.slot(a, b, clearance=1e-4, radius=0.01, e=0.5),
    "slot with friction": lambda w, a, b: w.slot(a, b, clearance=1e-4, radius=0.01, mu=0.1),
    "fixed": lambda w, a, b: w.fixed(a, b),
    "distance": lambda w, a, b: w.distance(a, b, length=0.5),
    "distance with play": lambda w, a, b: w.distance(a, b, length=0.5, clearance=1e-3),
    "coupling": lambda w, a, b: w.coupling(a.body, b.body, ratio=2.0),
    "drive of an angle": lambda w, a, b: w.drive(w.revolute(a, b), speed=3.0),
    "drive of a way": lambda w, a, b: w.drive(w.prismatic(a, b), speed=3.0),
    "stop": lambda w, a, b: w.stop(a, b, e=0.5),
    "stop with friction": lambda w, a, b: w.stop(a, b, e=0.5, mu=0.1),
    "spring": lambda w, a, b: w.spring(a, b, k=10.0, length=0.1, c=0.1),
    "spring without length": lambda w, a, b: w.spring(a, b, k=10.0, length=0.0),
    "damper": lambda w, a, b: w.damper(a, b, c=1.0),
    "bushing": lambda w, a, b: w.bushing(a, b, k=10.0, k_turn=1.0, c=0.1),
    "torsion spring": lambda w, a, b: w.torsion_spring(a, b, k=1.0),
    "torque": lambda w, a, b: w.motor(w.revolute(a, b), torque=1.0),
    "motor": lambda w, a, b: w.motor(w.revolute(a, b), speed=1.0, gain=1.0, limit=1.0),
    "load": lambda w, a, b: w.load(b, (1.0, 2.0)),
    "coil spring": lambda w, a, b: w.coil_spring(a, b, k=100.0, length=0.3, mass=0.1, masses=3, axis="x"),
    "coil spring that clashes": lambda w, a, b: w.coil_spring(
        a, b, k=100.0, length=0.3, mass=0.1, masses=3, axis="x", solid=0.1
    ),
}


SHAPE_PAIRS: tuple[tuple[Any, Any, bool], ...] = (  # a pair, and whether the first one lies inside of the second
    (Circle(0.1), Plane(), False),
    (Box(0.2, 0.1), Plane(), False),
    (Bar(0.3, 0.02), Plane(), False),
    (Circle(0.1), Circle(0.2), False),
    (Circle(0.1), Circle(0.3), True),
    (Circle(0.1), Bar(0.3, 0.02), False),
    (Circle(0.1), Box(0.2, 0.1), False),
    (Circle(0.1), Box(0.6, 0.5), True),
    (Bar(0.3, 0.02), Bar(0.2, 0.02), False),
    (Bar(0.3, 0.02), Box(0.2, 0.1), False),
    (Box(0.2, 0.1), Box(0.3, 0.1), False),
)


def texts() -> set[str]:
    """Return the texts of all examples."""
    found: set[str] = set()
    for one, other, inside in SHAPE_PAIRS:
        for mu in (0.0, 0.1):
            for fixed in (True, False):
                found |= _texts_of_pair(one, other, inside, mu, fixed)
    found |= _texts_of_gears()
    for name, add in EXAMPLES.items():
        for gravity in (9.81, 0.0) if name == "no joint" or name.startswith("coil") else (9.81,):
            for arrangement in range(3):
                found |= _texts_of(name, add, arrangement, gravity)
    return found


def _texts_of(name: str, add: Example, arrangement: int, gravity: float) -> set[str]:
    """Return the texts of one example between two bodies, or with the ground first or last."""
    w = Planar(gravity=gravity)
    one, other = w.bar(0.3, mass=1.0), w.bar(0.2, mass=0.5)
    ground = w.ground.at(0.1, 0.2)
    a, b = ((one.end, other.start), (ground, other.start), (one.end, ground))[arrangement]
    try:
        add(w, a, b)
        return _of_random_state(w)
    except (ModelError, AttributeError):
        if arrangement == 0:
            raise
        return set()  # not with the ground there


def _texts_of_pair(one: Any, other: Any, inside: bool, mu: float, fixed: bool) -> set[str]:
    """Return the texts of two shapes that touch; fixed: the second one belongs to the ground."""
    if isinstance(other, Plane) and not fixed:
        return set()
    w = Planar()
    a = w.body(one, mass=1.0, at=(0.0, 0.0))
    b = other if fixed else w.body(other, mass=1.0, at=(1.0, 1.0))
    w.contact(a, b, e=0.5, mu=mu, inside=inside)
    return _of_random_state(w)


def _texts_of_gears() -> set[str]:
    """Return the texts of gears with play, with friction and without."""
    found: set[str] = set()
    for mu in (0.0, 0.1):
        for fixed in (False, True):  # the first wheel belongs to the ground
            w = Planar()
            a, b = (w.body(Circle(radius), mass=1.0) for radius in (0.05, 0.1))
            w.gear(w.ground if fixed else a, b, teeth=(20, 40), module=0.005, backlash=1e-4, mu=mu)
            found |= _of_random_state(w)
    return found


def _of_random_state(w: Planar) -> set[str]:
    rng = np.random.default_rng(1)
    q = rng.standard_normal(3 * len(w.bodies) + len(w.masses))
    return texts_of(w._system(0.0, q), q, rng.standard_normal(len(q)))
