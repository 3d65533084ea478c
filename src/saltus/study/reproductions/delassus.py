"""Delassus' problem: why a contact must not be dropped because its bilateral force is negative (Acary, Lecture 2).

The lecture names the naive rule, which suppresses constraints whose force turns negative after a step with bilateral
constraints, and says that it works for one contact only. The example is ours: a rod rests on both ends and is lifted
between its middle and end 2. Held bilaterally both ends would be pulled down, yet end 1 is pressed onto the floor.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from saltus.problem import Problem
from saltus.schemes import EventDriven, MoreauJean, TDGMinus
from saltus.solve import solve
from saltus.system import Contact, System

from .tabled import Tabled

TITLE = "Delassus' problem: a rod on two supports, lifted at half the way from its middle to end 2 (Acary, Lecture 2)"


class _Rod(NamedTuple):
    """The rod, its lift, and how long it is followed."""

    # [kg], [m], [m/s^2]
    mass: float = 1.0
    half: float = 1.0
    gravity: float = 9.81
    # force [N] upwards and where it acts [m]
    lift: float = 2.5 * mass * gravity
    place: float = 0.5 * half
    t_end: float = 0.1  # [s]
    h: float = 1e-3  # [s] of the time steppings


ROD = _Rod()


def delassus(*, quick: bool = False, progress: bool | None = None) -> Tabled:
    """Compare bilateral forces, the naive rule and the contact law on a rod that is lifted, and the motions.

    Parameters
    ----------
    quick, progress
        Of no use: it takes a second.
    """
    W, M = np.array([[1.0, -ROD.half], [1.0, ROD.half]]), np.diag([ROD.mass, ROD.mass * ROD.half**2 / 3.0])
    D, b = (
        W @ np.linalg.solve(M, W.T),
        W @ np.linalg.solve(M, [ROD.lift - ROD.mass * ROD.gravity, ROD.lift * ROD.place]),
    )
    bilateral = np.linalg.solve(D, -b)
    naive = dropped(D, b)
    lawful = contact_law(D, b)
    forces = [["rule", "force 1 [N]", "force 2 [N]", "gap acceleration 1 [m/s^2]", "gap acceleration 2", "lawful"]]
    for rule, r in (("both held", bilateral), ("negative ones dropped", naive), ("contact law (LCP)", lawful)):
        a = D @ r + b
        good = bool(np.all(r >= -1e-12) and np.all(a >= -1e-9) and abs(r @ a) <= 1e-9)
        forces.append([rule, *(f"{x + 0.0:.3f}" for x in (*r, *a)), "yes" if good else "no"])
    motion = [["scheme", "gap 1 [mm]", "gap 2 [mm]", "force 1 at the start [N]"]]
    fallen = 0.5 * (D @ naive + b) * ROD.t_end**2
    motion.append(["negative ones dropped", *(f"{1e3 * x:.2f}" for x in fallen), f"{naive[0]:.3f}"])
    results = {"bilateral": bilateral, "naive": naive, "lawful": lawful, "gaps": {}}
    schemes: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("event-driven", EventDriven(), {"tol": 1e-9}),
        ("D2-", TDGMinus(2), {"h": ROD.h}),
        ("Moreau-Jean", MoreauJean(), {"h": ROD.h}),
    )
    for name, scheme, how in schemes:
        run = solve(lifted_rod(), scheme=scheme, **how)
        y, angle = run.q[-1]
        gaps = np.array([y - ROD.half * np.sin(angle), y + ROD.half * np.sin(angle)])
        motion.append([name, *(f"{1e3 * x + 0.0:.2f}" for x in gaps), f"{run.force_at(0.5 * ROD.h)[0]:.3f}"])
        results["gaps"][name] = gaps
    tables = {"at the start": forces, f"after {ROD.t_end:g} s": motion}
    return Tabled(TITLE, tables, results, _draw)


def lifted_rod(lift: float = ROD.lift, place: float = ROD.place) -> Problem:
    """Return the rod: q = (y, angle), the lift acts upwards at a place between its middle and end 2."""
    system = System(
        M=[ROD.mass, ROD.mass * ROD.half**2 / 3.0],
        f=lambda t, q: [lift - ROD.mass * ROD.gravity, lift * place * np.cos(q[1])],
        contacts=[
            Contact(lambda q: q[0] - ROD.half * np.sin(q[1]), name="end 1"),
            Contact(lambda q: q[0] + ROD.half * np.sin(q[1]), name="end 2"),
        ],
        name="lifted_rod",
    )
    return Problem(system, (0.0, ROD.t_end), [0.0, 0.0], [0.0, 0.0], name="lifted_rod")


def dropped(D: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the forces of the naive rule: hold all, drop those that are negative, and so on until none is."""
    held = list(range(len(b)))
    while held:
        r = np.linalg.solve(D[np.ix_(held, held)], -b[held])
        if np.all(r >= 0.0):
            made = np.zeros(len(b))
            made[held] = r
            return made
        held = [contact for contact, force in zip(held, r, strict=True) if force >= 0.0]
    return np.zeros(len(b))


def contact_law(D: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the forces with 0 <= r, 0 <= D r + b, one of them zero, by trying every set of held contacts."""
    for count in range(len(b) + 1):
        for held in itertools.combinations(range(len(b)), count):
            r, some = np.zeros(len(b)), list(held)
            if some:
                r[some] = np.linalg.solve(D[np.ix_(some, some)], -b[some])
            if np.all(r >= 0.0) and np.all(D @ r + b >= -1e-9 * np.abs(b).max()):
                return r
    raise ArithmeticError("a positive definite D always has a solution")


def _draw(made: Tabled):
    from .delassus_picture import draw  # here, because it brings matplotlib

    return draw(made)
