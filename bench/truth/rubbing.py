"""Bodies that move along one line and rub on each other, on the floor and on belts, under known normal forces.

m v' = f(t) - sum_j D_j^T r_j with r_j in F_j(t) Sign(D_j v - belt_j'(t)): friction of a sum is the sum of frictions, so
doubled contacts are one line here, and the motion is unique. Which lines begin to slip is a quadratic problem over the
box of frictions; within a phase everything is a signal, its velocities exact integrals.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from reference import CLOSEST, Reference, Unfit, alike, first_crossing
from scipy.optimize import lsq_linear
from signals import ZERO, Path, Signal, combined

MOVES = 1e-8  # of the accelerations: a line that sticks moves by less
PHASES = 150
CHANGE, REACH = 1e-8, 300.0


@dataclasses.dataclass(frozen=True)
class Line:
    """One rubbing pair: slip = row . v - belt'(t), friction at most `grip` [N]."""

    row: tuple[float, ...]
    grip: Signal
    belt: Signal = ZERO


def rubbed(masses: np.ndarray, forces: list[Signal], lines: list[Line], v0: np.ndarray, span: float) -> Reference:
    """Return the motion from q = 0; the third part is the generalised impulse of all frictions."""
    masses = np.asarray(masses, float)
    n, D = len(masses), np.array([line.row for line in lines])
    speeds = [line.belt.derivative() for line in lines]
    carried = [speed.derivative() for speed in speeds]
    drive = [force.integral() for force in forces]
    made = Reference()
    q, v, t = np.zeros(n), np.array(v0, float), 0.0
    slips = D @ v - np.array([float(speed.at(0.0)) for speed in speeds])
    signs = np.where(np.abs(slips) > 1e-12, np.sign(slips), 0.0)
    while t < span:
        signs = started(masses, forces, lines, D, carried, signs, t + 0.5 * CLOSEST * span)
        held = np.flatnonzero(signs == 0.0)
        moving = np.flatnonzero(signs != 0.0)
        loads = [forces[k] - combined(D[moving, k] * signs[moving], [lines[j].grip for j in moving]) for k in range(n)]
        C = D[held]
        answer = np.linalg.inv(C / masses @ C.T) if len(held) else np.zeros((0, 0))
        free = [combined(row / masses, loads) - carried[j] for row, j in zip(C, held, strict=True)]
        holding = [combined(row, free) for row in answer]  # friction of held lines
        accelerations = [(1.0 / masses[k]) * (loads[k] - combined(C[:, k], holding)) for k in range(n)]
        paths = [Path(t, q[k], v[k], accelerations[k]) for k in range(n)]
        guards, which = [], []
        for j, r in zip(held, holding, strict=True):
            guards += [(lines[j].grip - r).at, (lines[j].grip + r).at]
            which += [j, j]
        for j in moving:

            def slip(s, j=j, paths=paths, sign=signs[j]):
                return sign * (sum(D[j, k] * paths[k].velocity(s) for k in range(n)) - speeds[j].at(s))

            guards.append(slip)
            which.append(j)
        found = first_crossing(guards, t, span, span)
        end = span if found is None else found[0]

        def piece(s, paths=paths):
            velocity = np.stack([path.velocity(s) for path in paths], axis=-1)
            given = np.stack([signal.at(s) for signal in drive], axis=-1)
            place = np.stack([path.place(s) for path in paths], axis=-1)
            return place, velocity, masses * (velocity - v0) - given

        made.add(t, end, piece, "".join("0+-"[int(sign)] for sign in signs))
        if found is None:
            break
        if len(made.pieces) > PHASES:
            raise Unfit(f"more than {PHASES} phases")
        t = end
        q, v = (part[0].copy() for part in piece(np.array([t]))[:2])
        signs = signs.copy()
        signs[which[found[1]]] = 0.0
    return made


def started(masses, forces, lines, D, carried, signs, t: float) -> np.ndarray:
    """Signs of all lines a little behind t: those without slip may begin to."""
    still = np.flatnonzero(signs == 0.0)
    if len(still) == 0:
        return signs
    moving = np.flatnonzero(signs != 0.0)
    load = np.array([float(force.at(t)) for force in forces])
    grips = np.array([float(line.grip.at(t)) for line in lines])
    if grips.min() <= 0.0:
        raise Unfit("a contact would lift")
    load = load - D[moving].T @ (signs[moving] * grips[moving])
    C = D[still]
    wanted = np.array([float(carried[j].at(t)) for j in still])
    # the frictions nearest to those that stop all slips, in the metric of the masses
    target = np.linalg.lstsq(C / np.sqrt(masses), wanted - C @ (load / masses), rcond=None)[0]
    found = lsq_linear(C.T / np.sqrt(masses)[:, None], -target, (-grips[still], grips[still]), tol=1e-15)
    a = (load - C.T @ found.x) / masses
    left = C @ a - wanted
    size = max(float(np.abs(a).max()), float(np.abs(load / masses).max()), 1e-3)
    made = signs.copy()
    made[still] = np.where(np.abs(left) > MOVES * size, np.sign(left), 0.0)
    return made


def rubbing_motion(masses, forces: list[Signal], lines: list[Line], v0, span: float) -> Reference:
    """Return the motion, or raise Unfit where it depends too much on its data."""
    made = rubbed(masses, forces, lines, v0, span)
    other = [force * (1.0 + CHANGE * (k + 1)) for k, force in enumerate(forces)]
    wider = [dataclasses.replace(line, grip=line.grip * (1.0 + CHANGE)) for line in lines]
    alike(made, rubbed(masses, other, wider, v0, span), CHANGE * (len(forces) + 1), REACH)
    return made
