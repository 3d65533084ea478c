"""Other models that rest, with forces that are not unique: stacks, belts, slots, beams, tables, chains, ladders.

stack       two or three blocks on each other, doubled contacts, pulled: each pair sticks, slips, stops
conveyor    bodies whose feet stand on different accelerating belts, with different friction
slot        a body held between two plates that shake together: its weight changes sides while no gap opens
groove      a body in a V-groove of doubled walls, pushed up and out
beam        a beam on collinear feet under a load that travels across and beyond them
table       four to six legs under a load that travels across the diagonals
chain       masses on doubled strings, pulled up, slack and taut again
ladder      a smooth ladder that slides down the wall and leaves it, doubled ends
leaning     a rough ladder under a load that climbs it: it stays
wheel       a wheel wedged in a rough groove, turned until it spins in place
undecided   feet of different friction at one place, rods between rough plates, narrow wedges: the motion itself is not
            unique; forces admissible, energy closed, the order of the contacts without effect
gripped     a bead between doubled rails, a wedge in its groove, pulled to and fro through moments without load
jammed      rods that slide where no force exists: an impulse stops them at once, then they turn about their end
doubled     problems of the library with exact solutions, some of their contacts written twice
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from cone import Tipping, steady_motion
from feet import DRAWS, GRAVITY, log_uniform, standing, uniform, wave
from holding import held_range
from judge import Case, Job, Verdict, finish, judged, options, run_jobs
from reference import Reference, Unfit, first_crossing
from rubbing import Line, rubbing_motion
from scipy.integrate import solve_ivp
from signals import ZERO, Path, Signal, combined, constant

import saltus as sl

LIMIT = 30.0  # seconds of wall time of a run


def dot(row, x):
    """Sum of products without the zeros, for numbers and traced ones."""
    made = 0.0
    for k, factor in enumerate(row):
        if factor != 0.0:
            made = made + float(factor) * x[k]
    return made


def drawn(make, seed: int, number: int) -> Case:
    """Call make(rng) until it gives a fit model."""
    for attempt in range(DRAWS):
        try:
            return make(np.random.default_rng([seed, number, attempt]))
        except Unfit:
            continue
    raise Unfit(f"no fit model of {make.__name__} for seed {seed}")


# ---- rubbing along a line


def lined(name: str, text: str, masses, forces, lines, normals, v0, span, copies, weights) -> Case:
    """A system q = (places along the line, heights) whose pairs press on each other by weight.

    normals: for each line the row of its gap in the heights; copies: how often each contact is written.
    """
    n = len(masses)
    reference = rubbing_motion(masses, forces, lines, v0, span)
    if len(reference.pieces) < 2:
        raise Unfit("nothing happens")
    contacts, total = [], []
    for j, (line, row) in enumerate(zip(lines, normals, strict=True)):
        speed, mu = line.belt.derivative(), line_mu(line, weights[j])
        for c in range(copies[j]):
            contacts.append(
                sl.Contact(
                    lambda q, row=row: dot([0.0] * n + list(row), q), mu=mu, name=f"pair {j} {c}",
                    slip=lambda t, q, v, line=line, speed=speed: dot(line.row, v) - speed(t),
                )
            )  # fmt: skip
            total += [np.concatenate([np.zeros(n), row]), np.concatenate([line.row, np.zeros(n)])]

    def f(t, q, v):
        return [*(force(t) for force in forces), *(-float(m) * GRAVITY for m in masses)]

    system = sl.System(M=[*map(float, masses), *map(float, masses)], f=f, contacts=contacts)
    made = Reference()

    def whole(t, piece):
        q, v, i = piece(t)
        zero = np.zeros_like(q)
        lifted = np.outer(t, masses) * GRAVITY
        return np.concatenate([q, zero], axis=1), np.concatenate([v, zero], axis=1), np.concatenate([i, lifted], axis=1)

    for (start, end, piece), mode in zip(reference.pieces, reference.modes, strict=True):
        made.add(start, end, lambda t, piece=piece: whole(t, piece), mode)
    q0 = np.zeros(2 * n)
    start_velocity = np.concatenate([v0, np.zeros(n)])
    return Case(name, text, system, (0.0, span), q0, start_velocity, made, np.array(total).T)


def line_mu(line: Line, weight: float) -> float:
    """Coefficient of friction that gives a line its grip."""
    return float(line.grip.at(0.0)) / weight


def stack(seed: int) -> Case:
    def make(rng):
        n = int(rng.integers(2, 4))
        masses = np.exp(rng.uniform(np.log(0.3), np.log(5.0), n))
        mus = rng.uniform(0.1, 1.0, n)
        weights = [float(masses[k:].sum() * GRAVITY) for k in range(n)]
        lines, normals = [], []
        for k in range(n):
            row = np.zeros(n)
            row[k] = 1.0
            if k > 0:
                row[k - 1] = -1.0
            lines.append(Line(tuple(row.tolist()), constant(mus[k] * weights[k])))
            normals.append(row)
        forces = [ZERO] * n
        pulled = int(rng.integers(n))
        strength = float(mus[pulled] * weights[pulled])
        if rng.random() < 0.5:
            forces[pulled] = wave(rng, strength * uniform(rng, 0.8, 2.5))
        else:
            forces[pulled] = Signal((0.0, strength * uniform(rng, 1.0, 3.0)))
        if rng.random() < 0.4:
            other = int(rng.integers(n))
            forces[other] = forces[other] + wave(rng, float(mus[other] * weights[other]) * uniform(rng, 0.3, 1.2))
        v0 = np.zeros(n) if rng.random() < 0.6 else rng.uniform(-1.0, 1.0, n)
        copies = rng.integers(1, 4, n).tolist()
        text = f"{n} blocks, {sum(copies)} contacts"
        return lined("stack", text, masses, forces, lines, normals, v0, uniform(rng, 0.8, 2.5), copies, weights)

    return drawn(make, seed, 31)


def conveyor(seed: int) -> Case:
    """A body q = (x, z, angle) whose feet stand on belts; friction acts at the height of its centre."""

    def make(rng):
        mass = log_uniform(rng, 0.2, 10.0)
        arms = np.array([-uniform(rng, 0.3, 1.2), uniform(rng, 0.3, 1.2)])
        shares = np.array([arms[1], -arms[0]]) / (arms[1] - arms[0])  # of the weight
        mus = rng.uniform(0.1, 1.0, 2)
        belts = []
        for _ in range(2):
            if rng.random() < 0.5:
                belts.append(Signal((0.0, uniform(rng, -1.0, 1.0), uniform(rng, -1.5, 1.5))))
            else:
                reach = GRAVITY * float(mus.mean()) * uniform(rng, 0.4, 2.0)
                omega = uniform(rng, 3.0, 12.0)
                belts.append(
                    Signal((0.0, uniform(rng, -0.5, 0.5)), ((reach / omega**2, omega, uniform(rng, 0.0, 6.0)),))
                )
        if rng.random() < 0.3:
            belts[1] = belts[0]
        pull = wave(rng, mass * GRAVITY * uniform(rng, 0.05, 0.5)) if rng.random() < 0.5 else ZERO
        one = belts[0] is belts[1]
        grips = [constant(mu * mass * GRAVITY * share) for mu, share in zip(mus, shares, strict=True)]
        lines = [Line((1.0,), grips[0] + grips[1], belts[0])]
        if not one:
            lines = [Line((1.0,), grip, belt) for grip, belt in zip(grips, belts, strict=True)]
        v0 = np.array([uniform(rng, -1.0, 1.0) if rng.random() < 0.5 else float(belts[0].derivative().at(0.0))])
        span = uniform(rng, 1.0, 2.5)
        motion = rubbing_motion(np.array([mass]), [pull], lines, v0, span)
        if len(motion.pieces) < 2:
            raise Unfit("nothing happens")
        copies = rng.integers(1, 3, 2).tolist()
        contacts, total = [], []
        for k in range(2):
            speed, arm = belts[k].derivative(), float(arms[k])
            for c in range(copies[k]):
                contacts.append(
                    sl.Contact(
                        lambda q, arm=arm: q[1] + arm * q[2], mu=float(mus[k]), name=f"foot {k} {c}",
                        slip=lambda t, q, v, speed=speed: v[0] - speed(t),
                    )
                )  # fmt: skip
                total += [[0.0, 1.0, arm], [1.0, 0.0, 0.0]]
        inertia = mass * uniform(rng, 0.1, 0.6)
        weight = mass * GRAVITY
        system = sl.System(M=[mass, mass, inertia], f=lambda t, q, v: [pull(t), -weight, 0.0], contacts=contacts)
        made = Reference()

        def whole(t, piece):
            shape = np.array([[1.0, 0.0, 0.0]])
            q, v, i = (part @ shape for part in piece(t))
            i[:, 1] = weight * t
            return q, v, i

        for (start, end, piece), mode in zip(motion.pieces, motion.modes, strict=True):
            made.add(start, end, lambda t, piece=piece: whole(t, piece), mode)
        text = f"{'one belt' if one else 'two belts'}, {sum(copies)} contacts"
        start_velocity = np.array([v0[0], 0.0, 0.0])
        return Case("conveyor", text, system, (0.0, span), np.zeros(3), start_velocity, made, np.array(total).T)

    return drawn(make, seed, 32)


# ---- bodies that cannot move


def slot(seed: int) -> Case:
    """A smooth body (x, z, angle) between two plates that move by plate(t) together, with contacts on both sides."""

    def make(rng):
        mass = log_uniform(rng, 0.2, 10.0)
        inertia = mass * uniform(rng, 0.05, 0.5)
        weight = mass * GRAVITY
        omega = uniform(rng, 4.0, 15.0)
        plate = Signal((), ((GRAVITY * uniform(rng, 0.5, 3.0) / omega**2, omega, uniform(rng, 0.0, 6.0)),))
        plate = plate - constant(float(plate.at(0.0)))
        below = np.sort(rng.uniform(-1.0, 1.0, int(rng.integers(2, 4))))
        above = np.sort(rng.uniform(-1.0, 1.0, int(rng.integers(2, 4))))
        if min(np.ptp(below), np.ptp(above)) < 0.5:
            raise Unfit("too short")
        moment = wave(rng, weight * uniform(rng, 0.05, 1.0))
        pull = wave(rng, weight * uniform(rng, 0.1, 1.0))
        contacts, total = [], []
        for side, places in ((1.0, below), (-1.0, above)):
            for x in places.tolist():
                contacts.append(sl.Contact(lambda t, q, x=x, side=side: side * (q[1] + x * q[2] - plate(t))))
                total.append([0.0, side, side * x])
        system = sl.System(M=[mass, mass, inertia], f=lambda t, q, v: [pull(t), -weight, moment(t)], contacts=contacts)
        span = uniform(rng, 0.8, 2.0)
        path = Path(0.0, 0.0, 0.0, (1.0 / mass) * pull)
        rises, turned = plate.derivative(), moment.integral()

        def motion(t):
            zero = 0.0 * t
            q = np.stack([path.place(t), plate.at(t), zero], axis=-1)
            v = np.stack([path.velocity(t), rises.at(t), zero], axis=-1)
            lifted = mass * (rises.at(t) - float(rises.at(0.0))) + weight * t
            return q, v, np.stack([zero, lifted, -turned.at(t)], axis=-1)

        made = Reference()
        made.add(0.0, span, motion, "held")
        v0 = np.array([0.0, float(rises.at(0.0)), 0.0])
        text = f"{len(below)} below, {len(above)} above"
        return Case("slot", text, system, (0.0, span), np.zeros(3), v0, made, np.array(total).T)

    return drawn(make, seed, 33)


# ---- tipping and lifting without friction


def tipped(name: str, text: str, masses, forces, W, span) -> Case:
    """A system with linear gaps W^T q under forces that are signals, weight included."""
    W = np.asarray(W, float)
    reference = steady_motion(Tipping(np.asarray(masses, float), forces, W), span)
    if len(reference.pieces) < 2:
        raise Unfit("nothing happens")
    contacts = [sl.Contact(lambda q, row=row: dot(row, q)) for row in W.T.tolist()]
    system = sl.System(M=list(map(float, masses)), f=lambda t, q, v: [force(t) for force in forces], contacts=contacts)
    q0 = np.zeros(len(W))
    return Case(name, text, system, (0.0, span), q0, q0, reference, W)


def groove(seed: int) -> Case:
    def make(rng):
        mass = log_uniform(rng, 0.2, 10.0)
        weight = mass * GRAVITY
        angles = uniform(rng, 0.3, 1.2), np.pi - uniform(rng, 0.3, 1.2)  # of the normals above the horizon
        copies = rng.integers(1, 4, 2).tolist()
        columns = [[np.cos(s), np.sin(s)] for s, n in zip(angles, copies, strict=True) for _ in range(n)]
        columns = [columns[k] for k in rng.permutation(len(columns))]
        steep = weight / np.tan(max(np.pi - angles[1], angles[0]))
        across = (
            wave(rng, steep * uniform(rng, 0.5, 2.0))
            if rng.random() < 0.5
            else Signal((0.0, steep * uniform(rng, -3.0, 3.0)))
        )
        up = constant(-weight)
        if rng.random() < 0.6:
            up = up + wave(rng, weight * uniform(rng, 0.2, 1.3))
        text = f"{sum(copies)} contacts"
        return tipped("groove", text, [mass, mass], [across, up], np.array(columns).T, uniform(rng, 0.5, 1.5))

    return drawn(make, seed, 34)


def beam(seed: int) -> Case:
    def make(rng):
        mass = log_uniform(rng, 0.5, 10.0)
        weight = mass * GRAVITY
        n = int(rng.integers(3, 6))
        places, _ = standing(rng, "planar", n)
        inertia = mass * uniform(rng, 0.2, 0.6)
        load, span = weight * uniform(rng, 0.3, 2.0), uniform(rng, 0.5, 1.5)
        start, end = uniform(rng, -1.0, 1.0) * places.max(), uniform(rng, -3.0, 3.0)
        at = Signal((start, (end - start) / span))
        if rng.random() < 0.3:
            at = Signal((), ((uniform(rng, 1.0, 2.5), uniform(rng, 2.0, 8.0), 0.0),))
        forces = [constant(-weight - load), -load * at]
        W = np.array([[1.0, x] for x in places.tolist()]).T
        return tipped("beam", f"{n} feet", [mass, inertia], forces, W, span)

    return drawn(make, seed, 35)


def table(seed: int) -> Case:
    def make(rng):
        mass = log_uniform(rng, 0.5, 10.0)
        weight = mass * GRAVITY
        n = int(rng.integers(4, 7))
        places, _ = standing(rng, "spatial", n)
        inertia = mass * rng.uniform(0.2, 0.8, 2)
        load, span = weight * uniform(rng, 0.3, 2.0), uniform(rng, 0.5, 1.5)
        if rng.random() < 0.6:  # along a line through the middle
            heading, reach = uniform(rng, 0.0, 2.0 * np.pi), uniform(rng, 1.0, 2.5)
            way = Signal((-0.3 * reach, 1.3 * reach / span))
            x, y = way * float(np.cos(heading)), way * float(np.sin(heading))
        else:  # around
            omega, phase = uniform(rng, 2.0, 7.0), uniform(rng, 0.0, 6.0)
            x = Signal((), ((uniform(rng, 0.5, 2.0), omega, phase),))
            y = Signal((), ((uniform(rng, 0.5, 2.0), omega, phase + 1.5),))
        forces = [constant(-weight - load), -load * y, load * x]
        W = np.array([[1.0, y_k, -x_k] for x_k, y_k in places.tolist()]).T
        return tipped("table", f"{n} legs", [mass, *inertia], forces, W, span)

    return drawn(make, seed, 36)


def chain(seed: int) -> Case:
    def make(rng):
        n = int(rng.integers(2, 5))
        masses = np.exp(rng.uniform(np.log(0.3), np.log(3.0), n))
        copies = rng.integers(1, 4, n).tolist()
        columns = []
        for k in range(n):
            row = np.zeros(n)
            row[k] = 1.0  # a string is taut where the mass has fallen as far as the one above
            if k > 0:
                row[k - 1] = -1.0
            columns += [row.tolist()] * copies[k]
        forces = [constant(-m * GRAVITY) for m in masses]
        pulled = int(rng.integers(n))
        above = float(masses[pulled:].sum() * GRAVITY)
        forces[pulled] = forces[pulled] + (
            wave(rng, above * uniform(rng, 0.5, 1.8))
            if rng.random() < 0.6
            else Signal((0.0, above * uniform(rng, 1, 3)))
        )
        text = f"{n} masses, {sum(copies)} strings"
        return tipped("chain", text, masses, forces, np.array(columns).T, uniform(rng, 0.5, 1.2))

    return drawn(make, seed, 37)


# ---- ladder and wheel


def ladder(seed: int) -> Case:
    """q = (x, z, angle above the floor): ends on the floor z = 0 and at the wall x = 0, written several times."""

    def make(rng):
        mass, half = log_uniform(rng, 0.5, 10.0), uniform(rng, 0.5, 2.0)
        inertia = mass * half**2 * uniform(rng, 0.2, 0.5)
        first = uniform(rng, 0.7, 1.35)
        weight = mass * GRAVITY

        def at_wall(t, y):
            return [y[1], -weight * half * np.cos(y[0]) / (inertia + mass * half**2)]

        def pressing(t, y):  # force of the wall over mass half
            return -(np.sin(y[0]) * at_wall(t, y)[1] + np.cos(y[0]) * y[1] ** 2)

        def on_floor(t, y):
            s, c = np.sin(y[0]), np.cos(y[0])
            return [y[1], (-weight * half * c + mass * half**2 * s * c * y[1] ** 2) / (inertia + mass * half**2 * c**2)]

        def low(t, y):
            return y[0] - 0.2

        for event in (pressing, low):
            event.terminal, event.direction = True, -1.0
        settings = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15, "dense_output": True}
        one = solve_ivp(at_wall, (0.0, 10.0), [first, 0.0], events=(pressing, low), max_step=0.02, **settings)
        if not len(one.t_events[0]):
            raise Unfit("it stays at the wall")
        leaves = float(one.t_events[0][0])
        y = one.y_events[0][0]
        two = solve_ivp(on_floor, (leaves, leaves + 10.0), y, events=low, max_step=0.02, **settings)
        span = float(two.t_events[0][0])
        speed, place = -half * np.sin(y[0]) * y[1], half * np.cos(y[0])

        def first_piece(t):
            s, w = one.sol(t)
            q = np.stack([half * np.cos(s), half * np.sin(s), s], axis=-1)
            v = np.stack([-half * np.sin(s) * w, half * np.cos(s) * w, w], axis=-1)
            return q, v, np.stack([mass * v[:, 0], mass * v[:, 1] + weight * t], axis=-1)

        def second_piece(t):
            s, w = two.sol(t)
            q = np.stack([place + speed * (t - leaves), half * np.sin(s), s], axis=-1)
            v = np.stack([speed + 0.0 * t, half * np.cos(s) * w, w], axis=-1)
            return q, v, np.stack([mass * v[:, 0], mass * v[:, 1] + weight * t], axis=-1)

        made = Reference()
        made.add(0.0, leaves, first_piece, "wall and floor")
        made.add(leaves, span, second_piece, "floor")
        copies = rng.integers(1, 4, 2).tolist()
        contacts = [sl.Contact(lambda q: q[0] - half * np.cos(q[2])) for _ in range(copies[0])]
        contacts += [sl.Contact(lambda q: q[1] - half * np.sin(q[2])) for _ in range(copies[1])]
        total = np.zeros((2, sum(copies)))
        total[0, : copies[0]] = total[1, copies[0] :] = 1.0
        system = sl.System(M=[mass, mass, inertia], f=[0.0, -weight, 0.0], contacts=contacts)
        q0 = np.array([half * np.cos(first), half * np.sin(first), first])
        return Case("ladder", f"{sum(copies)} contacts", system, (0.0, span), q0, np.zeros(3), made, total)

    return drawn(make, seed, 38)


def leaning(seed: int) -> Case:
    """q = (x, z, angle) of the ladder, rough at the wall and at the floor; a load climbs or swings on it."""

    def make(rng):
        mass, half = log_uniform(rng, 0.5, 10.0), uniform(rng, 0.5, 2.0)
        inertia = mass * half**2 * uniform(rng, 0.2, 0.5)
        angle = uniform(rng, 0.6, 1.3)
        weight, load = mass * GRAVITY, mass * GRAVITY * uniform(rng, 0.2, 4.0)
        mus = rng.uniform(0.1, 1.0, 2).tolist()
        span = uniform(rng, 0.5, 2.0)
        if rng.random() < 0.6:
            at = Signal((-half, 2.0 * half / span * uniform(rng, 0.5, 1.0)))  # along the ladder, from its foot
        else:
            at = wave(rng, half * uniform(rng, 0.3, 0.9))
        c, s = float(half * np.cos(angle)), float(half * np.sin(angle))
        # the wall pushes in x at the upper end (-c, s) beside the centre, the floor in z at the lower one (c, -s)
        N = np.array([[1.0, 0.0, s * 1.0], [0.0, 1.0, -c]]).T
        T = np.array([[0.0, 1.0, c], [1.0, 0.0, -s]]).T
        moment = (load * float(np.cos(angle))) * at
        loads = [ZERO, constant(-weight - load), moment]
        for t in np.linspace(0.0, span, 60):
            now = np.array([float(signal.at(t)) for signal in loads])
            least, most = held_range(N, T, [0.97 * mu for mu in mus], now, np.array([1.0, 0.0, 0.0]))
            if not least < 0.0 < most:
                raise Unfit("it slides")
        copies = rng.integers(1, 3, 2).tolist()
        # the angle grows where the ladder is raised: the load turns it as -z does at its place
        contacts = [
            sl.Contact(
                lambda q: q[0] - half * np.cos(q[2]), mu=mus[0], name=f"wall {k}",
                slip=lambda t, q, v: v[1] + half * np.cos(q[2]) * v[2],
            )
            for k in range(copies[0])
        ] + [
            sl.Contact(
                lambda q: q[1] - half * np.sin(q[2]), mu=mus[1], name=f"floor {k}",
                slip=lambda t, q, v: v[0] - half * np.sin(q[2]) * v[2],
            )
            for k in range(copies[1])
        ]  # fmt: skip
        columns = [N[:, 0], T[:, 0]] * copies[0] + [N[:, 1], T[:, 1]] * copies[1]
        heavy = -weight - load
        system = sl.System(M=[mass, mass, inertia], f=lambda t, q, v: [0.0, heavy, moment(t)], contacts=contacts)
        drive = [signal.integral() for signal in loads]

        def rest(t):
            q = np.tile([c, s, angle], (len(t), 1))
            return q, np.zeros((len(t), 3)), -np.stack([signal.at(t) for signal in drive], axis=-1)

        made = Reference()
        made.add(0.0, span, rest, "stays")
        q0 = np.array([c, s, angle])
        text = f"{sum(copies)} contacts"
        return Case("leaning", text, system, (0.0, span), q0, np.zeros(3), made, np.array(columns).T)

    return drawn(make, seed, 42)


def marked_where_it_slides(sol: sl.Solution, tol: float) -> str | None:
    """A body that slides on rows of different friction at one place: a row of the events says that it is not unique."""
    slides = np.abs(sol.v[:, 0]).max() > 1e-6
    return "no row `not unique`" if slides and not np.any(sol.events["kind"] == "not unique") else None


def undecided(seed: int) -> Case:
    """Models whose accelerations are not unique: only what every admissible motion shares can be judged."""
    rng = np.random.default_rng([seed, 43])
    mass = log_uniform(rng, 0.2, 10.0)
    weight = mass * GRAVITY
    span = uniform(rng, 0.5, 2.0)
    kind = ("different feet", "rough slot", "wedge")[seed % 3]
    pull = (
        wave(rng, weight * uniform(rng, 0.1, 0.8))
        if rng.random() < 0.6
        else Signal((0.0, weight * uniform(rng, 0.2, 1.5)))
    )
    up = wave(rng, weight * uniform(rng, 0.1, 0.6)) if rng.random() < 0.4 else ZERO
    mus = rng.uniform(0.1, 1.0, 4).tolist()
    n = int(rng.integers(2, 5))
    contacts = []
    if kind == "wedge":  # walls so steep that friction holds a particle by itself
        steep = uniform(rng, 0.15, 0.6)
        for k, side in enumerate((1.0, -1.0)):
            normal = [side * float(np.cos(steep)), float(np.sin(steep))]
            tangent = [-normal[1], normal[0]]
            contacts.append(
                sl.Contact(
                    lambda q, normal=normal: dot(normal, q), mu=mus[k],
                    slip=lambda t, q, v, tangent=tangent: dot(tangent, v), name=f"wall {k}",
                )
            )  # fmt: skip
    else:
        for k in range(n):
            side = -1.0 if kind == "rough slot" and k % 2 else 1.0
            contacts.append(
                sl.Contact(
                    lambda q, side=side: side * q[1], mu=mus[k], slip=lambda t, q, v: v[0], name=f"foot {k}"
                )
            )  # fmt: skip
    order = rng.permutation(len(contacts))
    if np.array_equal(order, np.arange(len(contacts))):
        order = order[::-1]

    def f(t, q, v):
        return [pull(t), up(t) - weight]

    system, again = (sl.System(M=mass, f=f, contacts=c) for c in (contacts, [contacts[k] for k in order]))
    case = Case(
        "undecided", f"{kind}, {len(contacts)} contacts", system, (0.0, span), np.zeros(2), np.zeros(2), again=again
    )
    case.ledger = True
    case.checks = [] if kind == "wedge" else [marked_where_it_slides]
    return case


def gripped(seed: int) -> Case:
    """A particle that contacts hold by pressing against each other; the documented rule says that it stays."""

    def make(rng):
        mass, mu = log_uniform(rng, 0.1, 10.0), uniform(rng, 0.2, 1.0)
        weight = mass * GRAVITY
        kind = ("rails", "wedge")[int(rng.integers(2))]
        if kind == "rails":
            normals = [np.array([0.0, side]) for side in (1.0, -1.0)] * int(rng.integers(1, 3))
            pull = [wave(rng, weight), wave(rng, weight) if rng.random() < 0.5 else constant(0.0)]
        else:
            half = uniform(rng, 0.02, 0.9 * float(np.arctan(mu)))
            normals = [np.array([side * np.cos(half), np.sin(half)]) for side in (1.0, -1.0)]
            pull = [constant(0.0), wave(rng, weight)]
        turned = uniform(rng, -np.pi, np.pi)
        turn = np.array([[np.cos(turned), -np.sin(turned)], [np.sin(turned), np.cos(turned)]])
        normals = [turn @ n for n in normals]
        forces = [combined(turn[k].tolist(), pull) for k in range(2)]
        contacts = [
            sl.Contact(
                lambda q, n=n: dot(n, q), mu=mu, slip=lambda t, q, v, n=n: dot([-n[1], n[0]], v), name=f"side {k}"
            )
            for k, n in enumerate(normals)
        ]
        system = sl.System(M=mass, f=lambda t, q, v: [force(t) for force in forces], contacts=contacts)
        span = uniform(rng, 0.5, 2.0)
        pushed = [force.integral() for force in forces]

        def motion(t):
            zero = np.zeros((len(t), 2))
            return zero, zero, -np.stack([one.at(t) - float(one.at(0.0)) for one in pushed], axis=-1)

        made = Reference()
        made.add(0.0, span, motion, "held")
        total = np.array([row for n in normals for row in (n, [-n[1], n[0]])]).T
        start = np.zeros(2)
        return Case("gripped", f"{kind}, {len(contacts)} contacts", system, (0.0, span), start, start, made, total)

    return drawn(make, seed, 45)


def jammed(seed: int) -> Case:
    """q = (x, y, angle): a slender rod whose lower end slides; the impulse that stops it solves G P = -(0, speed)."""

    def make(rng):
        mass, length, mu = log_uniform(rng, 0.1, 10.0), log_uniform(rng, 0.1, 10.0), uniform(rng, 1.5, 3.0)
        angle, speed = float(np.arctan(2.0)) + uniform(rng, -0.15, 0.15), log_uniform(rng, 0.3, 3.0)
        half, inertia = 0.5 * length, mass * length**2 / 12.0
        if 1.0 + 3.0 * np.cos(angle) ** 2 - 3.0 * mu * np.sin(angle) * np.cos(angle) > -0.02:
            raise Unfit("forces exist")
        rod = sl.problems.painleve_rod(
            mass=mass, length=length, mu=mu, e=float(rng.choice([0.0, 0.5])), theta0=angle, speed=speed
        )
        rows = np.array([[0.0, 1.0, -half * np.cos(angle)], [1.0, 0.0, -half * np.sin(angle)]])
        mobility = rows / np.array([mass, mass, inertia])
        push = -np.linalg.solve(mobility @ rows.T, [0.0, speed])
        if not abs(push[1]) < 0.999 * mu * push[0]:
            raise Unfit("it slips on")
        v0 = rod.v0 + push @ mobility
        edge = float(rod.q0[0] + half * np.cos(angle))

        def slope(t, y):
            return [y[1], -mass * GRAVITY * half * np.cos(y[0]) / (mass * half**2 + inertia)]

        def state(y):
            """Places, velocities and accelerations of the centre and the angle about the fixed end."""
            cos, sin, (_, turns) = half * np.cos(y[0]), half * np.sin(y[0]), slope(0.0, y)
            q = np.stack([edge - cos, sin, y[0]], axis=-1)
            v = np.stack([sin * y[1], cos * y[1], y[1]], axis=-1)
            return q, v, cos * y[1] ** 2 + sin * turns, -sin * y[1] ** 2 + cos * turns

        most = 0.3 * float(np.sqrt(length))
        found = solve_ivp(
            slope, (0.0, most), [angle, v0[2]], rtol=1e-13, atol=1e-14, method="DOP853", dense_output=True
        )
        t = np.linspace(0.0, most, 2000)
        _, _, across, up = state(found.sol(t))
        kept = np.abs(across) < 0.99 * mu * (up + GRAVITY)
        span = float(t[-1] if np.all(kept) else t[np.argmin(kept)])
        if span < 0.2 * most:
            raise Unfit("it leaves its place at once")

        def motion(t):
            q, v, _, _ = state(found.sol(t))
            pushed = push + mass * np.stack([v[:, 1] - v0[1] + GRAVITY * t, v[:, 0] - v0[0]], axis=-1)
            return q, v, pushed

        made = Reference()
        made.add(0.0, span, motion, "turns about its end")
        text = f"mu {mu:.2f}, {length:.1g} m"
        return Case("jammed", text, rod.system, (0.0, span), rod.q0, rod.v0, made, np.eye(2))

    return drawn(make, seed, 46)


def wheel(seed: int) -> Case:
    """q = (x, z, angle): a wheel between two inclined rough walls; it rests while it can, then spins."""

    def make(rng):
        mass, radius = log_uniform(rng, 0.3, 10.0), uniform(rng, 0.2, 1.0)
        inertia = mass * radius**2 * uniform(rng, 0.3, 1.0)
        weight = mass * GRAVITY
        angles = uniform(rng, 0.4, 1.3), np.pi - uniform(rng, 0.4, 1.3)
        mus = rng.uniform(0.1, 0.6, 2).tolist()
        N = np.array([[np.cos(s), np.sin(s), 0.0] for s in angles]).T
        T = np.array([[-np.sin(s), np.cos(s), -radius] for s in angles]).T
        span = uniform(rng, 0.3, 1.0)
        least, most = held_range(N, T, mus, np.array([0.0, -weight, 0.0]), np.array([0.0, 0.0, 1.0]))
        if min(most, -least) < 1e-3 * weight * radius:
            raise Unfit("hardly any torque is held")
        way = int(rng.integers(3))
        if way == 0:
            torque = constant(most * uniform(rng, 0.05, 0.98))
        elif way == 1:
            torque = Signal((0.0, most / span * uniform(rng, 1.3, 3.0)))
        else:
            torque = wave(rng, most * uniform(rng, 0.3, 0.95))
        reaches = torque.at(np.linspace(0.0, span, 1000))
        loads = [ZERO, constant(-weight), torque]
        drive = [load.integral() for load in loads]
        masses = np.array([mass, mass, inertia])
        made = Reference()

        def rest(t):
            zero = np.zeros((len(t), 3))
            return zero, zero, -np.stack([signal.at(t) for signal in drive], axis=-1)

        if reaches.min() < 0.98 * least:
            raise Unfit("it spins backwards")
        if reaches.max() < 0.99 * most:
            made.add(0.0, span, rest, "rests")
        else:
            # it spins: T_k = mu_k N_k against the turn, which moves the rim by -radius
            columns = N + T * np.array(mus)
            solution = np.linalg.inv(np.column_stack([columns, [0.0, 0.0, -inertia]]))
            along = combined(-solution[2], loads)
            normals = [combined(-row, loads) for row in solution[:2]]
            crossed = first_crossing([lambda s: -along.at(s)], 0.0, span, span)
            if crossed is None or abs(float(torque.at(crossed[0])) - most) > 1e-6 * most or crossed[0] > 0.9 * span:
                raise Unfit("it does not begin to spin in place")
            start = crossed[0]
            path = Path(start, 0.0, 0.0, along)
            t = np.linspace(start, span, 300)[1:]
            if min(float(normal.at(t).min()) for normal in normals) < 0.02 * weight or path.velocity(t).min() < -1e-12:
                raise Unfit("it climbs, or stops again")

            def spins(t):
                q, v = np.zeros((2, len(t), 3))
                q[:, 2], v[:, 2] = path.place(t), path.velocity(t)
                return q, v, masses * v - np.stack([signal.at(t) for signal in drive], axis=-1)

            made.add(0.0, start, rest, "rests")
            made.add(start, span, spins, "spins")
        contacts = []
        for k in range(2):
            n, tangent = N[:2, k].tolist(), T[:, k].tolist()
            contacts.append(
                sl.Contact(
                    lambda q, n=n: n[0] * q[0] + n[1] * q[1], mu=mus[k],
                    slip=lambda t, q, v, tangent=tangent: dot(tangent, v),
                )
            )  # fmt: skip
        system = sl.System(M=masses.tolist(), f=lambda t, q, v: [0.0, -weight, torque(t)], contacts=contacts)
        total = np.stack([N[:, 0], T[:, 0], N[:, 1], T[:, 1]], axis=-1)
        q0 = np.zeros(3)
        return Case("wheel", ", ".join(made.modes), system, (0.0, span), q0, q0, made, total)

    return drawn(make, seed, 39)


# ---- problems of the library, contacts written twice

LIBRARY = (
    "impact_oscillator", "zeno_ball", "coulomb_oscillator", "bowl", "belt", "incline_3d", "driven_pendulum",
    "two_walls", "sliding_block", "zeno_oscillator", "rest_phase", "vibrating_table", "slide_off",
)  # fmt: skip


def doubled(seed: int) -> Case:
    """A problem with an exact solution; the impulses of the copies add up to that of the one contact."""
    rng = np.random.default_rng([seed, 40])
    problem = getattr(sl.problems, LIBRARY[seed % len(LIBRARY)])()
    assert problem.exact is not None
    contacts, total, copied = [], [], 0
    sizes = [1 + (0 if c.mu == 0.0 else np.size(c.slip(0.0, problem.q0, problem.v0))) for c in problem.system.contacts]
    chosen = int(rng.integers(len(sizes)))
    begin = 0
    for k, (contact, size) in enumerate(zip(problem.system.contacts, sizes, strict=True)):
        name = problem.system.contact_names[k]
        count = int(rng.integers(2, 4)) if k == chosen or rng.random() < 0.5 else 1
        copied += count
        for c in range(count):
            contacts.append(dataclasses.replace(contact, name=f"{name} {c}"))
            block = np.zeros((sum(sizes), size))
            block[begin : begin + size] = np.eye(size)
            total.append(block)
        begin += size
    order = rng.permutation(len(contacts))
    system = dataclasses.replace(problem.system, contacts=[contacts[k] for k in order])
    exact = problem.exact
    made = Reference()

    def motion(t):
        q, v, i = exact.q(t), exact.v(t), exact.impulse(t)
        return tuple(np.asarray(part, float).reshape(len(t), -1) for part in (q, v, i))

    jumps = np.asarray(exact.jumps, float)
    inside = jumps[(jumps > problem.t_span[0]) & (jumps < problem.t_span[1])]
    marks = np.unique(np.concatenate([problem.t_span, inside]))
    for start, end in itertools.pairwise(marks.tolist()):
        made.add(start, end, motion, "exact")
    case = Case(
        "doubled", f"{problem.name}, {copied} contacts", system, problem.t_span, problem.q0, problem.v0, made,
        np.concatenate([total[k] for k in order], axis=1),
    )  # fmt: skip
    case.curved = max(sizes) > 2  # friction in space turns while it slides
    return case


CLASSES = {
    "stack": stack,
    "conveyor": conveyor,
    "slot": slot,
    "groove": groove,
    "beam": beam,
    "table": table,
    "chain": chain,
    "ladder": ladder,
    "leaning": leaning,
    "wheel": wheel,
    "undecided": undecided,
    "gripped": gripped,
    "jammed": jammed,
    "doubled": doubled,
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
    given = options(__doc__, 26, ("hp-tdg", "event-driven"), CLASSES)
    jobs = [
        Job("resting", seed, scheme, tol, (("name", name),))
        for name in given.only
        for seed in range(given.seed, given.seed + given.count)
        for scheme in given.scheme
        for tol in given.tol
    ]
    finish("resting", run_jobs(jobs, LIMIT, workers=given.workers), given)


if __name__ == "__main__":
    main()
