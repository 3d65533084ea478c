"""Machines of a workshop, with more contacts and joints than hold them: their motion is known from a model without.

turntable   a stool on three to five legs carried by a table that spins up, or coincident feet dragged by one that turns
gripper     a box between two jaws with four pads, squeezed by a force that changes, on a hand that moves
buffers     a cart between two preloaded buffers that leave their stops and land on them, all contacts doubled
frame       a platform on three parallel rods (one too many) that swings against a wall with two corners
corner      a box with two to four feet that slides into a wall with two corners: it bounces off, or ends there
barrel      a barrel between two chocks, on a truck that brakes: it rests on three contacts, then climbs over one
wedge       a wedge driven under a load that two guides hold: it lifts, locks, is pulled out
tray        a body with two to four feet on a tray that tilts back and forth: it is carried, slides, is carried again
parcel      a parcel dropped flat on a belt: feet strike together ever lower, drag it, and it goes with the belt
door        a door in space on two or three hinges of three equations each, that swings against a stop
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from feet import GRAVITY, log_uniform, uniform, wave
from judge import Case, Job, Verdict, finish, judged, options, run_jobs
from reference import Reference, Unfit, first_crossing
from resting import drawn
from scipy.integrate import solve_ivp
from signals import Signal, constant

import saltus as sl
from saltus.problems._quaternion import cross, normalised, rate, rotate

LIMIT = 30.0  # seconds of processor time of a run
STEPS = 300  # of a reference over its span, at least
PHASES = 60  # of a reference, at most
GRAZES = 0.02  # m/s: slower impacts of a reference are no measure
SLOW = 0.03  # m/s: slower slips turn too fast for a reference


@dataclasses.dataclass
class Phase:
    """Smooth motion y' = rate(t, y) until a guard becomes negative: then what follows it.

    `guards` are pairs (guard(t, Y), follows(t, y) -> (name, y)); `shows(t, Y)` returns q, v and the total impulses.
    """

    rate: Callable
    guards: list[tuple[Callable, Callable]]
    shows: Callable


def followed(phases: Callable[[str], Phase], name: str, y0, span: float) -> Reference:
    """Return the motion that begins in a phase with y0, by scipy's DOP853; columns of Y are places in time."""
    made, t, y = Reference(), 0.0, np.asarray(y0, dtype=float)
    for _ in range(PHASES):
        phase = phases(name)
        dense = solve_ivp(
            lambda s, x, phase=phase: phase.rate(s, x), (t, span), y, method="DOP853", rtol=1e-13, atol=1e-14,
            max_step=span / STEPS, dense_output=True,
        ).sol  # fmt: skip
        guards = [lambda s, g=g, dense=dense: g(s, dense(s)) for g, _ in phase.guards]
        found = first_crossing(guards, t, span, span)
        end = span if found is None else found[0]
        made.add(t, end, lambda s, dense=dense, phase=phase: phase.shows(s, dense(s)), name)
        if found is None:
            return made
        name, y = phase.guards[found[1]][1](end, dense(end))
        if name == "end":
            return made
        t, y = end, np.asarray(y, dtype=float)
    raise Unfit("too many phases")


def columns(*parts) -> np.ndarray:
    """Return values over time as columns; numbers are constant."""
    size = max(np.size(part) for part in parts)
    return np.stack([np.broadcast_to(np.asarray(part, dtype=float), (size,)) for part in parts], axis=-1)


# ---- a stool on a turntable


def turntable(seed: int) -> Case:
    def make(rng) -> Case:
        if rng.random() < 0.5:
            return dragged(rng)
        n, mass = int(rng.integers(3, 6)), log_uniform(rng, 0.5, 20.0)
        inertia, span = mass * uniform(rng, 0.05, 0.3), uniform(rng, 1.0, 3.0)
        turn = Signal((0.0, 0.0, uniform(rng, -1.0, 1.0), uniform(rng, -0.4, 0.4)))
        rates = turn.derivative(), turn.derivative().derivative()
        angles = 2.0 * np.pi * (np.arange(n) + rng.uniform(-0.2, 0.2, n)) / n
        legs = (rng.uniform(0.2, 0.5, n) * np.stack([np.cos(angles), np.sin(angles)])).T.tolist()
        off = rng.uniform(-0.5, 0.5, 2)
        t = np.linspace(0.0, span, 500)
        far = float(np.linalg.norm(off))
        pull = far * np.hypot(rates[1].at(t), rates[0].at(t) ** 2)
        nearest = min(float(np.hypot(*leg)) for leg in legs)
        pull = float((pull + inertia / mass / nearest * np.abs(rates[1].at(t))).max())
        mu = uniform(rng, 2.0, 4.0) * pull / GRAVITY
        height = uniform(rng, 0.0, 0.02)

        def contact(leg, k: int) -> sl.Contact:
            def arm(q):
                c, s = np.cos(q[3]), np.sin(q[3])
                return leg[0] * c - leg[1] * s, leg[0] * s + leg[1] * c

            def gap(q):
                x, y = arm(q)
                return q[2] + y * q[4] - x * q[5]

            def slip(t, q, v):
                x, y = arm(q)
                spin = rates[0](t)
                return [
                    v[0] - y * v[3] + spin * (q[1] + y) + height * v[5],
                    v[1] + x * v[3] - spin * (q[0] + x) - height * v[4],
                ]

            return sl.Contact(gap, mu=mu, slip=slip, name=f"leg {k}")

        contacts = [contact(leg, k) for k, leg in enumerate(legs)]
        masses = [mass] * 3 + [inertia, 0.6 * inertia, 0.6 * inertia]
        system = sl.System(M=masses, f=[0.0, 0.0, -mass * GRAVITY, 0.0, 0.0, 0.0], contacts=contacts)

        def motion(t):
            phi, spin = turn.at(t), rates[0].at(t)
            x, y = off[0] * np.cos(phi) - off[1] * np.sin(phi), off[0] * np.sin(phi) + off[1] * np.cos(phi)
            q = columns(x, y, 0.0 * t, phi, 0.0, 0.0)
            v = columns(-spin * y, spin * x, 0.0, spin, 0.0, 0.0)
            return q, v, columns(mass * v[:, 0], mass * v[:, 1], mass * GRAVITY * t)

        made = Reference()
        made.add(0.0, span, motion, "carried")
        total = np.zeros((3, 3 * n))
        total[2, 0::3] = total[0, 1::3] = total[1, 2::3] = 1.0
        q0 = np.array([*off, 0.0, 0.0, 0.0, 0.0])
        return Case("turntable", f"{n} legs", system, (0.0, span), q0, np.zeros(6), made, total, curved=True)

    return drawn(make, seed, 61)


def dragged(rng: np.random.Generator) -> Case:
    """Feet at one place, dragged by a table that turns."""
    n, mass, mu = int(rng.integers(2, 5)), log_uniform(rng, 0.5, 20.0), uniform(rng, 0.1, 0.8)
    spin, span = uniform(rng, 0.5, 3.0), uniform(rng, 0.5, 2.0)
    place, speed = rng.uniform(-0.6, 0.6, 2), rng.uniform(-0.5, 0.5, 2)

    def slips(Y):
        return Y[2] + spin * Y[1], Y[3] - spin * Y[0]

    def rate(t, y):
        u, w = slips(y)
        size = mu * GRAVITY / max(np.hypot(u, w), SLOW)  # a guard ends it before
        return [y[2], y[3], -size * u, -size * w]

    def lost(t, y):
        raise Unfit("it sticks")

    def shows(t, Y):
        q, v = columns(Y[0], Y[1], 0.0), columns(Y[2], Y[3], 0.0)
        return q, v, columns(mass * (Y[2] - speed[0]), mass * (Y[3] - speed[1]), mass * GRAVITY * t)

    phase = Phase(rate, [(lambda t, Y: np.hypot(*slips(Y)) - 2.0 * SLOW, lost)], shows)
    if float(np.hypot(*slips(np.array([*place, *speed])))) < 0.1:
        raise Unfit("it nearly sticks")
    made = followed(lambda name: phase, "slips", [*place, *speed], span)
    contact = sl.Contact(
        lambda q: q[2], mu=mu, slip=lambda t, q, v: [v[0] + spin * q[1], v[1] - spin * q[0]]
    )  # fmt: skip
    system = sl.System(M=mass, f=[0.0, 0.0, -mass * GRAVITY], contacts=[contact] * n)
    total = np.zeros((3, 3 * n))
    total[2, 0::3] = total[0, 1::3] = total[1, 2::3] = 1.0
    q0, v0 = np.array([*place, 0.0]), np.array([*speed, 0.0])
    return Case("turntable", f"{n} feet, dragged", system, (0.0, span), q0, v0, made, total, curved=True)


# ---- a box in a gripper


def gripper(seed: int) -> Case:
    def make(rng) -> Case:
        mass, jaw, span = log_uniform(rng, 0.2, 5.0), log_uniform(rng, 0.05, 2.0), uniform(rng, 1.0, 3.0)
        inertia, a = mass * uniform(rng, 0.002, 0.02), uniform(rng, 0.03, 0.1)
        heights = sorted((rng.uniform(0.03, 0.08, 2) * [-1.0, 1.0]).tolist())
        mu = uniform(rng, 0.2, 1.0)
        base = mass * GRAVITY / (2.0 * mu)
        squeeze = constant(base * uniform(rng, 0.8, 1.6)) + wave(rng, base * uniform(rng, 0.2, 0.6), span)
        hand = wave(rng, uniform(rng, 0.0, 0.4), span)  # its velocity
        speed, pull = hand, hand.derivative()
        if float(squeeze.at(np.linspace(0.0, span, 500)).min()) < 0.05 * base:
            raise Unfit("it lets go")

        def shows(t, Y):
            zero = 0.0 * t
            q, v = columns(zero, Y[0], 0.0, 0.0, 0.0), columns(zero, Y[1], 0.0, 0.0, 0.0)
            return q, v, columns(Y[2], Y[2], mass * (Y[1] - start) + mass * GRAVITY * t)

        def sticks(t):
            return 2.0 * mu * squeeze.at(t) - mass * np.abs(pull.at(t) + GRAVITY)

        def phases(name: str) -> Phase:
            if name == "sticks":
                rate = lambda t, y: [y[1], float(pull(t) + 0.0), float(squeeze(t))]  # noqa: E731
                return Phase(rate, [(lambda t, Y: sticks(t), lambda t, y: (way(t), y))], shows)
            sign = 1.0 if name == "up" else -1.0

            def rate(t, y):
                return [y[1], -GRAVITY - sign * 2.0 * mu * float(squeeze(t)) / mass, float(squeeze(t))]

            return Phase(rate, [(lambda t, Y: sign * (Y[1] - speed.at(t)), stopped)], shows)

        def way(t) -> str:
            return "down" if float(pull(t)) + GRAVITY > 0.0 else "up"

        def stopped(t, y):
            y = [y[0], float(speed(t)), y[2]]
            return ("sticks", y) if float(sticks(np.array([t]))[0]) > 0.0 else (way(t), y)

        start = float(speed(0.0)) + (0.0 if rng.random() < 0.5 else uniform(rng, -0.5, 0.5))
        first = "up" if start > float(speed(0.0)) else "down"
        if start == float(speed(0.0)):
            first = stopped(0.0, [0.0, start, 0.0])[0]
        made = followed(phases, first, [0.0, start, 0.0], span)

        def pad(side: float, height: float, jaw_at: int) -> sl.Contact:
            def gap(q):
                across = q[0] + side * a * np.cos(q[2]) - height * np.sin(q[2])
                return -side * (across - q[jaw_at] - side * a)

            def slip(t, q, v):
                return v[1] + (side * a * np.cos(q[2]) - height * np.sin(q[2])) * v[2] - speed(t)

            return sl.Contact(gap, mu=mu, slip=slip, name=f"pad {side:g} {height:g}")

        contacts = [pad(side, height, 3 if side < 0.0 else 4) for side in (-1.0, 1.0) for height in heights]
        system = sl.System(
            M=[mass, mass, inertia, jaw, jaw],
            f=lambda t, q, v: [0.0, -mass * GRAVITY, 0.0, squeeze(t), -squeeze(t)],
            contacts=contacts,
        )
        total = np.zeros((3, 8))
        total[0, [0, 2]] = total[1, [4, 6]] = total[2, 1::2] = 1.0
        v0 = np.array([0.0, start, 0.0, 0.0, 0.0])
        return Case("gripper", ", ".join(made.modes), system, (0.0, span), np.zeros(5), v0, made, total)

    return drawn(make, seed, 62)


# ---- a cart between buffers


def buffers(seed: int) -> Case:
    def make(rng) -> Case:
        mass, small = log_uniform(rng, 0.5, 10.0), log_uniform(rng, 0.1, 2.0)
        stiffness, preload = mass * log_uniform(rng, 20.0, 400.0), mass * uniform(rng, 0.5, 8.0)
        half, span = uniform(rng, 0.2, 0.5), uniform(rng, 1.5, 4.0)
        drive = wave(rng, mass * uniform(rng, 0.0, 2.0), span)
        start = uniform(rng, 0.4, 1.5) * float(rng.choice([-1.0, 1.0]))
        sides = (-1.0, 1.0)

        # y: x, b of both sides, their velocities, impulses of cart and stop per side; all b count outwards
        def accelerations(states, t, Y):
            force, mass_now, rates = drive.at(t), mass, [0.0 * t, 0.0 * t]
            for k, state in enumerate(states):
                if state == "attached":
                    force, mass_now = force - sides[k] * (preload + stiffness * Y[1 + k]), mass_now + small
            a = force / mass_now
            pushes, holds = [0.0 * t, 0.0 * t], [0.0 * t, 0.0 * t]
            for k, state in enumerate(states):
                spring = preload + stiffness * Y[1 + k]
                if state == "attached":
                    rates[k], pushes[k] = sides[k] * a, small * sides[k] * a + spring
                elif state == "free":
                    rates[k] = -spring / small
                else:
                    holds[k] = 0.0 * t + preload
            return a, rates, pushes, holds

        def phases(name: str) -> Phase:
            states = name.split("-")

            def rate(t, y):
                a, rates, pushes, holds = accelerations(states, t, y)
                return np.array([y[3], y[4], y[5], a, *rates, *pushes, *holds], dtype=float)

            def renamed(k, state):
                return "-".join(state if j == k else old for j, old in enumerate(states))

            def strikes(k):
                def follow(t, y):
                    y, side = y.copy(), sides[k]
                    closing = side * y[3] - y[4 + k]
                    if closing < GRAZES:
                        raise Unfit("a slow impact")
                    both = (mass * side * y[3] + small * y[4 + k]) / (mass + small)
                    y[6 + k] += small * (both - y[4 + k])
                    y[3], y[4 + k], y[1 + k] = side * both, both, side * y[0] - half
                    return renamed(k, "attached"), y

                return lambda t, Y: half + Y[1 + k] - sides[k] * Y[0], follow

            def lands(k):
                def follow(t, y):
                    y = y.copy()
                    if -y[4 + k] < GRAZES:
                        raise Unfit("a slow landing")
                    y[8 + k] -= small * y[4 + k]
                    y[1 + k], y[4 + k] = 0.0, 0.0
                    return renamed(k, "stop"), y

                return lambda t, Y: Y[1 + k], follow

            def parts(k):
                return (
                    lambda t, Y: accelerations(states, t, Y)[2][k],
                    lambda t, y: (renamed(k, "free"), y),
                )

            guards = []
            for k, state in enumerate(states):
                guards += [strikes(k)] if state != "attached" else [parts(k)]
                guards += [lands(k)] if state != "stop" else []

            def shows(t, Y):
                q, v = columns(Y[0], -Y[1], Y[2]), columns(Y[3], -Y[4], Y[5])
                return q, v, columns(Y[6], Y[7], Y[8], Y[9])

            return Phase(rate, guards, shows)

        made = followed(phases, "stop-stop", [0.0, 0.0, 0.0, start, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], span)
        copies = [int(rng.integers(1, 4)) for _ in range(4)]
        kinds = [
            sl.Contact(lambda q: q[0] + half - q[1], name="cart left"),
            sl.Contact(lambda q: half + q[2] - q[0], name="cart right"),
            sl.Contact(lambda q: -q[1], name="stop left"),
            sl.Contact(lambda q: 1.0 * q[2], name="stop right"),
        ]
        which = rng.permutation(np.repeat(np.arange(4), copies))
        contacts = [dataclasses.replace(kinds[k], name=f"{kinds[k].name} {j}") for j, k in enumerate(which)]

        def f(t, q, v):
            return [drive(t) + 0.0 * q[0], preload - stiffness * q[1], -preload - stiffness * q[2]]

        total = (which[None, :] == np.arange(4)[:, None]).astype(float)
        system = sl.System(M=[mass, small, small], f=f, contacts=contacts)
        v0 = np.array([start, 0.0, 0.0])
        text = f"{len(contacts)} contacts, {len(made.modes)} phases"
        return Case("buffers", text, system, (0.0, span), np.zeros(3), v0, made, total)

    return drawn(make, seed, 63)


# ---- a platform on parallel rods


def frame(seed: int) -> Case:
    def make(rng) -> Case:
        rods, mass, length = int(rng.integers(3, 5)), log_uniform(rng, 0.5, 20.0), uniform(rng, 0.4, 1.5)
        inertia, span, e = mass * uniform(rng, 0.05, 0.3), uniform(rng, 1.5, 4.0), uniform(rng, 0.0, 0.8)
        places = [[x, uniform(rng, -0.1, 0.1)] for x in np.linspace(-0.5, 0.5, rods) + rng.uniform(-0.05, 0.05, rods)]
        corners = [[0.6, uniform(rng, -0.3, -0.1)], [0.6, uniform(rng, 0.1, 0.3)]]
        wall = length * uniform(rng, 0.0, 0.4)
        drive = wave(rng, mass * GRAVITY * uniform(rng, 0.0, 0.4), span)
        angle, spin = uniform(rng, -0.8, 0.0), uniform(rng, -1.0, 1.0)

        def rate(t, y):
            turning = -GRAVITY / length * np.sin(y[0]) + float(drive.at(t)) / (mass * length) * np.cos(y[0])
            return [y[1], turning, 0.0]

        def strike(t, y):
            speed = length * y[1] * np.cos(y[0])
            if speed < 5.0 * GRAZES:
                raise Unfit("a slow impact")
            # the rods carry what is not along their circle
            return "swings", [y[0], -e * y[1], y[2] + (1.0 + e) * mass * length * y[1] / np.cos(y[0])]

        def shows(t, Y):
            c, s = np.cos(Y[0]), np.sin(Y[0])
            q = columns(length * s, length * (1.0 - c), 0.0)
            return q, columns(length * c * Y[1], length * s * Y[1], 0.0), columns(Y[2])

        guards = [(lambda t, Y: wall - length * np.sin(Y[0]), strike), (lambda t, Y: 1.2 - np.abs(Y[0]), fails)]
        made = followed(lambda name: Phase(rate, guards, shows), "swings", [angle, spin, 0.0], span)

        def rod(place, k: int) -> sl.Joint:
            def constraint(q):
                c, s = np.cos(q[2]), np.sin(q[2])
                x = q[0] + place[0] * c - place[1] * s - place[0]
                z = q[1] + place[0] * s + place[1] * c - place[1] - length
                return np.sqrt(x * x + z * z) - length

            return sl.Joint(constraint, name=f"rod {k}")

        def corner(place, k: int) -> sl.Contact:
            def gap(q):
                return wall + place[0] - (q[0] + place[0] * np.cos(q[2]) - place[1] * np.sin(q[2]))

            return sl.Contact(gap, e=e, name=f"corner {k}")

        system = sl.System(
            M=[mass, mass, inertia],
            f=lambda t, q, v: [drive(t) + 0.0 * q[0], -mass * GRAVITY, 0.0],
            contacts=[corner(place, k) for k, place in enumerate(corners)],
            joints=[rod(place, k) for k, place in enumerate(places)],
        )
        q0 = np.array([length * np.sin(angle), length * (1.0 - np.cos(angle)), 0.0])
        v0 = np.array([length * np.cos(angle) * spin, length * np.sin(angle) * spin, 0.0])
        text = f"{rods} rods, {len(made.modes) - 1} impacts"
        return Case("frame", text, system, (0.0, span), q0, v0, made, np.ones((1, 2)))

    return drawn(make, seed, 64)


def fails(t, y):
    raise Unfit("too far")


# ---- a box that slides into a wall


def corner(seed: int) -> Case:
    def make(rng) -> Case:
        mass, mu, e = log_uniform(rng, 0.5, 20.0), uniform(rng, 0.05, 0.6), uniform(rng, 0.0, 0.8)
        half, low, inertia = uniform(rng, 0.2, 0.5), uniform(rng, 0.05, 0.15), mass * uniform(rng, 0.02, 0.1)
        slope = float(np.arctan(mu * uniform(rng, 0.0, 2.0)))
        feet = np.concatenate([[-half, half], rng.uniform(-half, half, int(rng.integers(0, 3)))]).tolist()
        sides = [-uniform(rng, 0.3, 0.9) * low, uniform(rng, 0.3, 1.5) * low]
        far, speed, span = uniform(rng, 0.1, 0.5), uniform(rng, 1.0, 2.5), uniform(rng, 1.0, 3.0)
        pull, rub = GRAVITY * float(np.sin(slope)), mu * GRAVITY * float(np.cos(slope))
        if abs(pull - rub) < 0.1 * rub:
            raise Unfit("it nearly slides on")
        made, t, x, v = Reference(), 0.0, -far, speed

        def piece(t0, x0, v0, a, end, mode):
            def motion(t):
                s = t - t0
                v = v0 + a * s
                q, w = columns(x0 + s * (v0 + 0.5 * a * s), 0.0, 0.0), columns(v, 0.0, 0.0)
                weight = mass * GRAVITY * float(np.cos(slope)) * t
                return q, w, columns(mass * (v - speed) - mass * pull * t, weight)

            made.add(t0, min(end, span), motion, mode)

        while t < span:
            a = pull - rub if v > 0.0 else pull + rub
            if v == 0.0:
                a = 0.0 if x == 0.0 or pull <= rub else pull - rub
            if a == 0.0:
                piece(t, x, 0.0, 0.0, span, "rests")
                break
            root = v * v - 2.0 * a * x
            if v >= 0.0 and root > 0.0:  # to the wall, unless it stops before
                s = -2.0 * x / (v + np.sqrt(root))
                piece(t, x, v, a, t + s, "slides")
                t, x, v = t + s, 0.0, -e * float(np.sqrt(root))
                if abs(v) < 1e-12:
                    v = 0.0
            else:
                s = -v / a
                piece(t, x, v, a, t + s, "slides")
                t, x, v = t + s, x + 0.5 * v * s, 0.0

        def foot(at: float, k: int) -> sl.Contact:
            def slip(t, q, v):
                return v[0] - (at * np.sin(q[2]) - low * np.cos(q[2])) * v[2]

            return sl.Contact(
                lambda q: q[1] + at * np.sin(q[2]) - low * np.cos(q[2]) + low, mu=mu, slip=slip, name=f"foot {k}"
            )

        def side(at: float, k: int) -> sl.Contact:
            return sl.Contact(lambda q: half - q[0] - half * np.cos(q[2]) + at * np.sin(q[2]), e=e, name=f"side {k}")

        contacts = [foot(at, k) for k, at in enumerate(feet)] + [side(at, k) for k, at in enumerate(sides)]
        weight = mass * GRAVITY
        force = [weight * float(np.sin(slope)), -weight * float(np.cos(slope)), 0.0]
        system = sl.System(M=[mass, mass, inertia], f=force, contacts=contacts)
        total = np.zeros((2, 2 * len(feet) + 2))
        total[0, 1 : 2 * len(feet) : 2], total[0, -2:], total[1, 0 : 2 * len(feet) : 2] = 1.0, -1.0, 1.0
        q0, v0 = np.array([-far, 0.0, 0.0]), np.array([speed, 0.0, 0.0])
        text = f"{len(feet)} feet, {'ends at the wall' if pull > rub else 'stops'}"
        return Case("corner", text, system, (0.0, span), q0, v0, made, total)

    return drawn(make, seed, 65)


# ---- a barrel between chocks


def barrel(seed: int) -> Case:
    def make(rng) -> Case:
        mass, radius, span = log_uniform(rng, 1.0, 100.0), uniform(rng, 0.2, 0.8), uniform(rng, 0.5, 2.0)
        height = radius * uniform(rng, 0.1, 0.6)
        half = float(np.sqrt(radius**2 - (radius - height) ** 2))
        climbs = GRAVITY * half / (radius - height)
        brakes = Signal((0.0, climbs * uniform(rng, 0.8, 3.0) / span)) + wave(
            rng, climbs * uniform(rng, 0.0, 0.3), span
        )
        begin = float(np.arcsin(half / radius))

        def rests(t, Y):
            zero = 0.0 * t
            return columns(zero, radius, 0.0), columns(zero, 0.0, 0.0), columns(zero)

        def phases(name: str) -> Phase:
            if name == "rests":
                stay = [
                    (lambda t, Y: climbs - brakes.at(t), lambda t, y: ("climbs", [begin, 0.0])),
                    (lambda t, Y: climbs + brakes.at(t), fails),
                ]
                return Phase(lambda t, y: [0.0, 0.0], stay, rests)

            def rate(t, y):
                return [y[1], (GRAVITY * np.sin(y[0]) - float(brakes.at(t)) * np.cos(y[0])) / radius]

            def shows(t, Y):
                c, s = np.cos(Y[0]), np.sin(Y[0])
                v = columns(-radius * c * Y[1], -radius * s * Y[1], 0.0)
                return columns(half - radius * s, height + radius * c, 0.0), v, columns(0.0 * t)

            def force(t, Y):
                return brakes.at(t) * np.sin(Y[0]) + GRAVITY * np.cos(Y[0]) - radius * Y[1] ** 2

            ended = [(force, lambda t, y: ("end", y)), (lambda t, Y: begin - Y[0], lambda t, y: ("end", y))]
            return Phase(rate, ended, shows)

        made = followed(phases, "rests", [0.0, 0.0], span)
        first, last, motion = made.pieces[-1]
        if last < span:
            made.pieces[-1] = (first, first + 0.95 * (last - first), motion)
            span = made.pieces[-1][1]
        edges = [-half, half]

        def chock(at: float) -> sl.Contact:
            return sl.Contact(lambda q: np.sqrt((q[0] - at) ** 2 + (q[1] - height) ** 2) - radius)

        kinds = [sl.Contact(lambda q: q[1] - radius), *(chock(at) for at in edges)]
        which = rng.permutation(np.repeat(np.arange(3), rng.integers(1, 4, 3)))
        contacts = [
            dataclasses.replace(kinds[k], name=f"{'floor left right'.split()[k]} {j}") for j, k in enumerate(which)
        ]
        system = sl.System(
            M=[mass, mass, 0.5 * mass * radius**2],
            f=lambda t, q, v: [mass * brakes(t) + 0.0 * q[0], -mass * GRAVITY, 0.0],
            contacts=contacts,
        )
        text = f"{len(contacts)} contacts, {', '.join(made.modes)}"
        q0 = np.array([0.0, radius, 0.0])
        return Case("barrel", text, system, (0.0, span), q0, np.zeros(3), made)

    return drawn(make, seed, 66)


# ---- a wedge under a load


def wedge(seed: int) -> Case:
    def make(rng) -> Case:
        load, mass, angle = log_uniform(rng, 1.0, 50.0), log_uniform(rng, 0.5, 5.0), uniform(rng, 0.1, 0.6)
        mu_1, mu_2, span = uniform(rng, 0.05, 0.5), uniform(rng, 0.05, 0.5), uniform(rng, 1.0, 3.0)
        c, s, tan = float(np.cos(angle)), float(np.sin(angle)), float(np.tan(angle))
        weight, both = load * GRAVITY, (load + mass) * GRAVITY
        if c - mu_1 * s < 0.2:
            raise Unfit("it jams")

        def ratio(sign):
            return (s + mu_1 * sign * c) / (c - mu_1 * sign * s)

        def holds(sign):  # the push at which it begins to slide
            return weight * ratio(sign) + sign * mu_2 * both

        high, low = holds(1.0), holds(-1.0)
        push = constant(uniform(rng, 0.6, 1.2) * high) + wave(rng, uniform(rng, 0.2, 1.0) * (high - low), span)

        def shows(t, Y):
            q, v = columns(Y[0], 0.0, 0.0, tan * Y[0]), columns(Y[1], 0.0, 0.0, tan * Y[1])
            return q, v, columns(both * t + load * tan * Y[1])

        def phases(name: str) -> Phase:
            if name == "holds":
                guards = [
                    (lambda t, Y: high - push.at(t), lambda t, y: ("in", y)),
                    (lambda t, Y: push.at(t) - low, lambda t, y: ("out", y)),
                ]
                return Phase(lambda t, y: [0.0, 0.0], guards, shows)
            sign = 1.0 if name == "in" else -1.0
            inertia = mass + load * tan * (ratio(sign) + mu_2 * sign)

            def rate(t, y):
                return [y[1], (float(push.at(t)) - holds(sign)) / inertia]

            if inertia < 0.1 * mass:
                raise Unfit("it jams")

            def carries(t, Y):  # the load stays on the wedge
                return GRAVITY + tan * (push.at(t) - holds(sign)) / inertia - 0.02 * GRAVITY

            return Phase(rate, [(lambda t, Y: sign * Y[1], stopped), (carries, fails)], shows)

        def stopped(t, y):
            now = float(push.at(t))
            name = "holds" if low < now < high else ("in" if now >= high else "out")
            return name, [y[0], 0.0]

        made = followed(phases, stopped(0.0, [0.0, 0.0])[0], [0.0, 0.0], span)
        floors, faces = int(rng.integers(1, 4)), int(rng.integers(1, 4))

        def face(k: int) -> sl.Contact:
            return sl.Contact(
                lambda q: s * (q[2] - q[0]) + c * (q[3] - q[1]), mu=mu_1,
                slip=lambda t, q, v: c * (v[2] - v[0]) - s * (v[3] - v[1]), name=f"face {k}",
            )  # fmt: skip

        contacts = [
            sl.Contact(lambda q: q[1], mu=mu_2, slip=lambda t, q, v: v[0], name=f"floor {k}") for k in range(floors)
        ]
        contacts += [face(k) for k in range(faces)]
        system = sl.System(
            M=[mass, mass, load, load],
            f=lambda t, q, v: [push(t) + 0.0 * q[0], -mass * GRAVITY, 0.0, -weight],
            contacts=contacts,
            joints=[sl.Joint(lambda q: q[2], name="guide"), sl.Joint(lambda q: 0.3 * q[2], name="second guide")],
        )
        total = np.zeros((1, 2 * (floors + faces)))
        total[0, 0 : 2 * floors : 2] = 1.0
        text = f"{floors} + {faces} contacts, {', '.join(made.modes)}"
        return Case("wedge", text, system, (0.0, span), np.zeros(4), np.zeros(4), made, total)

    return drawn(make, seed, 67)


# ---- a body on a tray that tilts


def tray(seed: int) -> Case:
    def make(rng) -> Case:
        mass, mu, span = log_uniform(rng, 0.5, 20.0), uniform(rng, 0.1, 0.6), uniform(rng, 1.0, 3.0)
        high, inertia = uniform(rng, 0.0, 0.1), mass * uniform(rng, 0.001, 0.02)
        feet = [
            -uniform(rng, 0.2, 0.4),
            uniform(rng, 0.2, 0.4),
            *rng.uniform(-0.2, 0.2, int(rng.integers(0, 3))).tolist(),
        ]
        tilt = wave(rng, uniform(rng, 0.5, 1.5) * float(np.arctan(mu)), 1.0, 6.0)
        spin = tilt.derivative()
        jerk = spin.derivative()
        start = uniform(rng, -0.3, 0.3)

        def normal(t, s, v):
            turn = spin.at(t)
            return 2.0 * v * turn + s * jerk.at(t) - high * turn**2 + GRAVITY * np.cos(tilt.at(t))

        def needed(t, s):  # friction per mass that carries it
            return -high * jerk.at(t) - s * spin.at(t) ** 2 + GRAVITY * np.sin(tilt.at(t))

        def stands(t, s, v, friction):
            N = normal(t, s, v)
            offset = inertia / mass * jerk.at(t) - high * friction
            return np.minimum(0.8 * min(-feet[0], feet[1]) * N - np.abs(offset), N - 0.1 * GRAVITY)

        def shows(t, Y):
            c, s, turn = np.cos(tilt.at(t)), np.sin(tilt.at(t)), spin.at(t)
            along, across = Y[1] - high * turn, Y[0] * turn
            q = columns(Y[0] * c - high * s, Y[0] * s + high * c, tilt.at(t))
            return q, columns(along * c - across * s, along * s + across * c, turn), columns(0.0 * t)

        def phases(name: str) -> Phase:
            if name == "carried":
                held = [
                    (lambda t, Y: mu * normal(t, Y[0], 0.0) - np.abs(needed(t, Y[0])), slides),
                    (lambda t, Y: stands(t, Y[0], 0.0, needed(t, Y[0])), fails),
                ]
                return Phase(lambda t, y: [0.0, 0.0], held, shows)
            sign = 1.0 if name == "right" else -1.0

            def rate(t, y):
                return [y[1], float(-needed(t, y[0]) - sign * mu * normal(t, y[0], y[1]))]

            guards = [
                (lambda t, Y: sign * Y[1], stopped),
                (lambda t, Y: stands(t, Y[0], Y[1], -sign * mu * normal(t, Y[0], Y[1])), fails),
                (lambda t, Y: 1.5 - np.abs(Y[0]), fails),
            ]
            return Phase(rate, guards, shows)

        def slides(t, y):
            return ("left" if float(needed(t, y[0])) > 0.0 else "right"), [y[0], 0.0]

        def stopped(t, y):
            free = mu * float(normal(t, y[0], 0.0)) - abs(float(needed(t, y[0])))
            return ("carried", [y[0], 0.0]) if free > 0.0 else slides(t, y)

        made = followed(phases, stopped(0.0, [start, 0.0])[0], [start, 0.0], span)

        def foot(at: float, k: int) -> sl.Contact:
            def place(q):
                c, s = np.cos(q[2]), np.sin(q[2])
                return q[0] + at * c + high * s, q[1] + at * s - high * c

            def gap(t, q):
                x, z = place(q)
                return -x * np.sin(tilt(t)) + z * np.cos(tilt(t))

            def slip(t, q, v):
                x, z = place(q)
                c, s, turn = np.cos(tilt(t)), np.sin(tilt(t)), spin(t)
                across, up = v[0] - (z - q[1]) * v[2] + z * turn, v[1] + (x - q[0]) * v[2] - x * turn
                return across * c + up * s

            return sl.Contact(gap, mu=mu, slip=slip, name=f"foot {k}")

        system = sl.System(
            M=[mass, mass, inertia], f=[0.0, -mass * GRAVITY, 0.0], contacts=[foot(at, k) for k, at in enumerate(feet)]
        )
        q, v, _ = made(np.zeros(1))
        return Case("tray", f"{len(feet)} feet, {', '.join(made.modes)}", system, (0.0, span), q[0], v[0], made)

    return drawn(make, seed, 68)


# ---- a parcel on a belt


def parcel(seed: int) -> Case:
    def make(rng) -> Case:
        mass, mu, e = log_uniform(rng, 0.2, 20.0), uniform(rng, 0.1, 0.8), uniform(rng, 0.1, 0.8)
        inertia, span = mass * uniform(rng, 0.01, 0.1), uniform(rng, 1.0, 3.0)
        feet = [
            -uniform(rng, 0.1, 0.4),
            uniform(rng, 0.1, 0.4),
            *rng.uniform(-0.3, 0.3, int(rng.integers(0, 3))).tolist(),
        ]
        law = str(rng.choice(["newton", "poisson"]))
        belt, across, high = uniform(rng, -1.5, 1.5), uniform(rng, -1.0, 1.0), uniform(rng, 0.05, 0.5)
        made, t, x, z, u, w = Reference(), 0.0, 0.0, high, across, 0.0

        def piece(end, a, weightless, mode):
            t0, x0, z0, u0, w0 = t, x, z, u, w

            def motion(t):
                s = t - t0
                fall = 0.0 if weightless else -GRAVITY
                v = columns(u0 + a * s, w0 + fall * s, 0.0)
                q = columns(x0 + s * (u0 + 0.5 * a * s), z0 + s * (w0 + 0.5 * fall * s), 0.0)
                return q, v, columns(mass * (v[:, 0] - across), mass * (v[:, 1] + GRAVITY * t))

            made.add(t0, min(end, span), motion, mode)

        while t < span:
            if z == 0.0 and w < 1e-13:
                w, sign = 0.0, float(np.sign(belt - u))
                if sign == 0.0:
                    piece(span, 0.0, True, "carried")
                    break
                end = t + abs(belt - u) / (mu * GRAVITY)
                piece(end, sign * mu * GRAVITY, True, "drags")
                x, u, t = x + 0.5 * (u + belt) * (end - t), belt, end
                continue
            s = (w + float(np.sqrt(w * w + 2.0 * GRAVITY * z))) / GRAVITY
            piece(t + s, 0.0, False, "flies")
            hit = GRAVITY * s - w
            most = mu * (1.0 + e) * hit
            t, x, z, u, w = t + s, x + s * u, 0.0, u + float(np.clip(belt - u, -most, most)), e * hit

        def foot(at: float, k: int) -> sl.Contact:
            return sl.Contact(
                lambda q: q[1] + at * np.sin(q[2]), e=e, mu=mu, impact=law, name=f"foot {k}",
                slip=lambda t, q, v: v[0] - at * np.sin(q[2]) * v[2] - belt,
            )  # fmt: skip

        contacts = [foot(at, k) for k, at in enumerate(feet)]
        system = sl.System(M=[mass, mass, inertia], f=[0.0, -mass * GRAVITY, 0.0], contacts=contacts)
        total = np.zeros((2, 2 * len(feet)))
        total[0, 1::2] = total[1, 0::2] = 1.0
        q0, v0 = np.array([0.0, high, 0.0]), np.array([across, 0.0, 0.0])
        return Case("parcel", f"{len(feet)} feet, {law}", system, (0.0, span), q0, v0, made, total)

    return drawn(make, seed, 69)


# ---- a door on more hinges than it needs


def door(seed: int) -> Case:
    def make(rng) -> Case:
        hinges, mass, span = int(rng.integers(2, 4)), log_uniform(rng, 2.0, 40.0), uniform(rng, 1.0, 3.0)
        wide, tall, e = uniform(rng, 0.5, 1.0), uniform(rng, 0.8, 2.0), uniform(rng, 0.0, 0.8)
        inertia = [mass * (tall**2) / 12.0, mass * (wide**2 + tall**2) / 12.0, mass * wide**2 / 12.0]
        lean = uniform(rng, 0.1, 0.5)  # of the axis, so that weight closes the door
        weight = [mass * GRAVITY * float(np.sin(lean)), 0.0, -mass * GRAVITY * float(np.cos(lean))]
        heights = (np.linspace(-0.4, 0.4, hinges) * tall).tolist()
        half, about = 0.5 * wide, inertia[2] + 0.25 * mass * wide**2
        stop, angle, rate_0 = uniform(rng, -0.5, 0.2), uniform(rng, 0.5, 1.2), uniform(rng, -1.0, 1.0)
        push = wave(rng, mass * GRAVITY * uniform(rng, 0.0, 0.05), 2.0, 8.0)  # at the centre, across the door

        def turning(t, y):
            return [y[1], (-weight[0] * half * np.sin(y[0]) + float(push(t)) * half) / about]

        def strike(t, y):
            if -y[1] * wide < 5.0 * GRAZES:
                raise Unfit("a slow impact")
            return "swings", [y[0], -e * y[1]]

        def shows(t, Y):
            c, s, zero = np.cos(Y[0]), np.sin(Y[0]), 0.0 * t
            q = columns(half * c, half * s, 0.0, np.cos(0.5 * Y[0]), 0.0, 0.0, np.sin(0.5 * Y[0]))
            v = columns(-half * s * Y[1], half * c * Y[1], 0.0, 0.0, 0.0, Y[1])
            return q, v, columns(zero)

        guards = [(lambda t, Y: Y[0] - stop, strike), (lambda t, Y: 2.5 - np.abs(Y[0]), fails)]
        made = followed(lambda name: Phase(turning, guards, shows), "swings", [angle, rate_0], span)

        def arm(q, at):
            turned = rotate(q[3:7], at)
            return [q[0] + turned[0], q[1] + turned[1], q[2] + turned[2]]

        def hinge(height: float, k: int) -> sl.Joint:
            def constraint(q):
                x, y, z = arm(q, [-half, 0.0, height])
                return [x, y, z - height]

            return sl.Joint(constraint, name=f"hinge {k}")

        away = [-float(np.sin(stop)), float(np.cos(stop))]

        def bumper(height: float, k: int) -> sl.Contact:
            def gap(q):
                x, y, _ = arm(q, [half, 0.0, height])
                return away[0] * x + away[1] * y

            return sl.Contact(gap, e=e, name=f"bumper {k}")

        def f(t, q, v):
            gyro = cross(v[3:6], [inertia[0] * v[3], inertia[1] * v[4], inertia[2] * v[5]])
            side = rotate(q[3:7], [0.0, 1.0, 0.0])
            P = push(t)
            return [weight[0] + P * side[0], P * side[1], weight[2] + P * side[2], -gyro[0], -gyro[1], -gyro[2]]

        system = sl.System(
            M=np.diag([mass] * 3 + inertia), f=f, joints=[hinge(at, k) for k, at in enumerate(heights)],
            contacts=[bumper(at, k) for k, at in enumerate((-0.3 * tall, 0.3 * tall))],
            q_dot=lambda q, v: [v[0], v[1], v[2], *rate(q[3:7], v[3:6])],
            retract=lambda q: [q[0], q[1], q[2], *normalised(q[3:7])],
        )  # fmt: skip
        q, v, _ = made(np.zeros(1))
        text = f"{hinges} hinges, {len(made.modes) - 1} impacts"
        return Case("door", text, system, (0.0, span), q[0], v[0], made)

    return drawn(make, seed, 70)


CLASSES = {
    "turntable": turntable,
    "gripper": gripper,
    "buffers": buffers,
    "frame": frame,
    "corner": corner,
    "barrel": barrel,
    "wedge": wedge,
    "tray": tray,
    "parcel": parcel,
    "door": door,
}


def draw(name: str, seed: int) -> Case:
    """Return the model of a class and a seed."""
    return CLASSES[name](seed)


def described(seed: int, name: str) -> tuple[str, str]:
    case = draw(name, seed)
    return case.name, case.structure


def measured(seed: int, scheme: str, tol: float, name: str) -> Verdict:
    return judged(draw(name, seed), seed, scheme, tol)


def main() -> None:
    given = options(__doc__, 20, ("hp-tdg", "event-driven"), CLASSES)
    jobs = [
        Job("workshop", seed, scheme, tol, (("name", name),))
        for name in given.only
        for seed in range(given.seed, given.seed + given.count)
        for scheme in given.scheme
        for tol in given.tol
    ]
    finish("workshop", run_jobs(jobs, LIMIT, workers=given.workers), given)


if __name__ == "__main__":
    main()
