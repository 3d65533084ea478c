"""Paoli's velocity scheme: his ball in closed form, corners of several constraints, conditions (H'4) and (H'5).

L. Paoli, A velocity-based time-stepping scheme for vibro-impact problems, workshop, INSA Lyon 2008. The source has no
numbers for several constraints: corner and wedge, their angles and starts are ours.
"""

from __future__ import annotations

import math

import numpy as np

from saltus import problems
from saltus.problem import Problem
from saltus.problems.paoli_ball import discrete
from saltus.schemes import EventDriven, PaoliVelocity
from saltus.solve import solve
from saltus.system import Contact, System

from .tabled import Tabled

TITLE = "Paoli's velocity scheme (Lyon 2008): closed form of the ball, corners of two constraints"
PAOLI_STEPS = (math.sqrt(2.0) / 100.0, math.sqrt(2.0) / 400.0, math.sqrt(2.0) / 1600.0)  # [s]: no node on the impact
RESTITUTIONS = (0.0, 0.5, 1.0)
ANGLES = {"right": 90.0, "obtuse": 135.0}  # kinetic angles of the gradients [degrees]
CORNERS = (("right", 0.5), ("right", 0.0), ("obtuse", 0.0), ("obtuse", 0.5))  # allowed by (H'5): the first three
SHIFTS = (-1e-3, 0.0, 1e-3)  # of the start [m], across the way into the corner: floor first, both, wall first


def paoli(*, quick: bool = False, progress: bool | None = None) -> Tabled:
    """Compare the ball with its closed form, and let a point run into corners whose angles (H'5) allows or not.

    Parameters
    ----------
    quick
        Without the smallest step size.
    progress
        Of no use: it takes a second.
    """
    steps = PAOLI_STEPS[:-1] if quick else PAOLI_STEPS
    ball = [["e", "h [s]", "largest error of q [m]", "bound (1 + e) h", "from the closed form"]]
    results: dict = {}
    for e in RESTITUTIONS:
        for h in steps:
            n = int(2.0 / h)
            problem, closed = problems.paoli_ball(e=e, t_end=n * h), discrete(h, n, e=e)
            run = solve(problem, scheme=PaoliVelocity(between="constant"), h=h)
            error = float(np.abs(run.q - problem.exact.q(run.t)).max())  # pyright: ignore[reportOptionalMemberAccess]
            apart = float(max(np.abs(run.q[:, 0] - closed.q).max(), np.abs(run.v[:, 0] - closed.v).max()))
            ball.append([f"{e:g}", f"{h:.2e}", f"{error:.2e}", f"{(1.0 + e) * h:.2e}", f"{apart:.0e}"])
            results["ball", e, h] = error, apart
    corners = [["angle", "e", "(H'5)", "h [s]", *(f"v, start {_moved(shift)}" for shift in SHIFTS), "spread [m/s]"]]
    for angle, e in CORNERS:
        report = corner(angle, e).diagnose([0.0, 0.0])
        for h in (*steps, 0.0):
            ends = np.array([_end(corner(angle, e, shift), h) for shift in SHIFTS])
            spread = float(np.ptp(ends, axis=0).max())
            kept = "kept" if report.continuous else "violated"
            size = f"{h:.2e}" if h else "located"
            corners.append([f"{ANGLES[angle]:g}°", f"{e:g}", kept, size, *(_vector(v) for v in ends), f"{spread:.1e}"])
            results["corner", angle, e, h] = spread, report.continuous
    tables = {"his ball, q(t) = 1 - t, then e (t - 1)": ball, "a point runs into a corner; v at the end [m/s]": corners}
    return Tabled(TITLE, tables, results, _draw)


def corner(angle: str, e: float, shift: float = 0.0) -> Problem:
    """Return a point without forces that runs into the corner of two walls, from the place that the shift moves."""
    turn = math.radians(ANGLES[angle])
    wall = np.array([math.sin(turn), math.cos(turn)])  # its gradient; that of the floor is (0, 1)
    system = System(
        M=1.0,
        f=[0.0, 0.0],
        contacts=[
            Contact(lambda q: q[1], e=e, name="floor"),
            Contact(lambda q: wall[0] * q[0] + wall[1] * q[1], e=e, name="wall"),
        ],
    )
    between = wall + np.array([0.0, 1.0])
    inward = -between / np.linalg.norm(between)
    across = np.array([-inward[1], inward[0]])
    return Problem(system, (0.0, 2.0), -inward * (1.0 + 1.0 / 300.0) + shift * across, inward, name="corner")


def _end(problem: Problem, h: float) -> np.ndarray:
    """Return the last velocity by Paoli's scheme, or with located impacts where h is 0."""
    if h == 0.0:
        return solve(problem, scheme=EventDriven(), tol=1e-10).v[-1]
    return solve(problem, scheme=PaoliVelocity(), h=h).v[-1]


def _moved(shift: float) -> str:
    return "straight" if shift == 0.0 else f"moved by {1e3 * shift:+g} mm"


def _vector(v: np.ndarray) -> str:
    return f"({v[0] + 0.0:.3f}, {v[1] + 0.0:.3f})"


def _draw(made: Tabled):
    from .paoli_picture import draw  # here, because it brings matplotlib

    return draw(made)
