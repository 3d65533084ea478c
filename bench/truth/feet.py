"""Bodies on one to six feet, coincident or at different places, plane and space: lifted, pulled, shaken, tilted.

Wherever the motion is unique it must be that of the body on the fewest feet that hold it, whose motion is known in
closed form (block.py for translations, cone.py for bodies that tip). Every run: contact forces admissible at 1000
random times. `python feet.py --count 5 --only lifted tilted`, one model again: `--seed 17 --count 1 --only lifted`.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from block import Block, block_motion
from bodies import Body, system_of, translated
from cone import Tipping, steady_motion
from judge import Case, Job, Verdict, finish, judged, options, run_jobs
from reference import Reference, Unfit, first_crossing
from scipy.integrate import solve_ivp
from signals import ZERO, Signal, constant

LIMIT = 40.0  # seconds of processor time in which a model has to end; yawing ones run twice, up to 5000 steps each
GRAVITY = 9.81
DRAWS = 400  # attempts to draw a fit model
STEADY = 0.7  # share of the distance to the nearest edge that friction at the floor may move the pressure


def uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def supported(places: np.ndarray) -> float:
    """Return the distance of the centre from the nearest edge of what the feet hold, negative outside [m]."""
    if places.ndim == 1:
        return float(min(places.max(), -places.min()))
    if len(places) < 3:
        return 0.0
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    rays = np.stack([np.cos(angles), np.sin(angles)])
    return float((places @ rays).max(axis=0).min())  # least support of the hull in any direction


def standing(rng: np.random.Generator, kind: str, n: int) -> tuple[np.ndarray, float]:
    """Draw places of n feet and the distance of the centre from the nearest edge."""
    if kind in ("point", "spatial point"):
        return np.zeros(n), np.inf
    for _ in range(DRAWS):
        if kind in ("planar", "turning"):
            places = rng.uniform(-1.2, 1.2, n)
        elif rng.random() < 0.4 and n >= 4:  # a table: feet at the corners of a rectangle, the others between them
            a, b = rng.uniform(0.3, 1.2, 2)
            corners = np.array([[-a, -b], [a, -b], [a, b], [-a, b]])
            more = corners[rng.integers(0, 4, n - 4)] * rng.uniform(-1.0, 1.0, (n - 4, 1))
            places = np.concatenate([corners, more])
        else:
            places = rng.uniform(-1.2, 1.2, (n, 2))
        near = supported(places)
        if near > 0.25 and np.abs(np.diff(np.sort(places, axis=0), axis=0)).min() > 1e-3:
            return places, near
        if kind in ("planar", "turning") and near > 0.25:
            return places, near
        if places.ndim == 2 and n >= 4 and near > 0.25:
            return places, near
    raise Unfit("no places of feet found")


def wave(rng: np.random.Generator, amplitude: float, low: float = 3.0, high: float = 12.0) -> Signal:
    return Signal((), ((amplitude, uniform(rng, low, high), uniform(rng, 0.0, 2.0 * np.pi)),))


def drives(name: str, rng: np.random.Generator, mass: float, mu: float) -> dict:
    """Draw pull, lift, plate, belt and speed of a class."""
    weight = mass * GRAVITY
    grip = mu * weight
    if name == "lifted":
        way = rng.integers(3)
        if way == 0:  # a ramp: 20 t N on a kilogram, and its like
            return {"lift": Signal((0.0, weight * uniform(rng, 1.2, 4.0)))}
        if way == 1:  # lifted and put down again, several times
            return {"lift": constant(weight * uniform(rng, 0.2, 0.7)) + wave(rng, weight * uniform(rng, 0.5, 1.2))}
        ramp = Signal((0.0, weight * uniform(rng, 0.5, 1.0)))
        return {
            "lift": ramp + wave(rng, weight * uniform(rng, 0.1, 0.4)),
            "pull": wave(rng, grip * uniform(rng, 0.1, 2)),
        }
    if name == "pulled":
        way = rng.integers(4)
        if way == 0:
            return {"pull": Signal((0.0, grip * uniform(rng, 1.2, 4.0)))}
        if way == 1:
            return {"pull": wave(rng, grip * uniform(rng, 0.6, 3.0))}
        if way == 2:  # it slides at the start
            return {"pull": wave(rng, grip * uniform(rng, 0.6, 2.0)), "speed": uniform(rng, -2.0, 2.0)}
        press = wave(rng, weight * uniform(rng, 0.1, 0.8))  # the weight on the feet changes too
        return {"pull": wave(rng, grip * uniform(rng, 0.6, 3.0)), "lift": press}
    if name == "shaken":
        omega = uniform(rng, 4.0, 20.0)
        hop = uniform(rng, 0.3, 0.95) if rng.random() < 0.4 else uniform(rng, 1.05, 2.0)
        plate = Signal((), ((hop * GRAVITY / omega**2, omega, uniform(rng, 0.0, 2.0 * np.pi)),))
        pull = wave(rng, grip * uniform(rng, 0.2, 1.5)) if mu > 0.0 and rng.random() < 0.6 else ZERO
        return {"plate": plate + constant(-float(plate.at(0.0))), "pull": pull}
    omega = uniform(rng, 3.0, 15.0)  # carried: the plate shakes along the floor
    reach = mu * GRAVITY * uniform(rng, 0.5, 3.0)
    belt = Signal((), ((reach / omega**2, omega, uniform(rng, 0.0, 2.0 * np.pi)),))
    made = {"belt": belt, "speed": uniform(rng, -1.0, 1.0) if rng.random() < 0.3 else 0.0}
    if made["speed"] == 0.0 and rng.random() < 0.7:
        made["speed"] = float(belt.derivative().at(0.0))  # at rest on the plate
    if rng.random() < 0.4:  # and up and down
        omega = uniform(rng, 3.0, 12.0)
        most = uniform(rng, 0.1, 0.9) * GRAVITY
        plate = Signal((), ((most / omega**2, omega, uniform(rng, 0.0, 2.0 * np.pi)),))
        made["plate"] = plate + constant(-float(plate.at(0.0)))
    return made


TRANSLATIONS = ("lifted", "pulled", "shaken", "carried")
ARRANGEMENTS = ("point", "point", "spatial point", "planar", "planar", "turning", "spatial", "quaternion")


def translation(name: str, seed: int, feet: int | None = None) -> Case:
    """Draw a body that translates: lifted, pulled, shaken or carried; `feet` coincident ones where it is given."""
    for attempt in range(DRAWS):
        rng = np.random.default_rng([seed, TRANSLATIONS.index(name), attempt])
        kind = ARRANGEMENTS[int(rng.integers(2 if feet else len(ARRANGEMENTS)))]
        n = feet or int(rng.integers({"point": 1, "spatial point": 1, "planar": 2, "turning": 2}.get(kind, 3), 7))
        rough = name in ("pulled", "carried") or rng.random() < 0.6
        mu = uniform(rng, 0.1, 1.0) if rough else 0.0
        mass = log_uniform(rng, 0.2, 20.0)
        span = uniform(rng, 1.0, 3.0)
        try:
            places, near = standing(rng, kind, n)
            drive = drives(name, rng, mass, mu)
            block = Block(mass, GRAVITY, mu, **drive)
            motion = block_motion(block, span)
        except Unfit:
            continue
        if len(motion.pieces) < 2 and rng.random() < 0.8:
            continue  # nothing happens: kept once in a while
        angle = uniform(rng, 0.0, 2.0 * np.pi)
        spatial = kind in ("spatial point", "spatial", "quaternion")
        along = np.array([np.cos(angle), np.sin(angle)] if spatial else [1.0])
        tallest = STEADY * near / max(mu, 0.1)
        height = 0.0 if not np.isfinite(near) or rng.random() < 0.2 else uniform(rng, 0.0, min(tallest, 1.5))
        body = Body(
            kind, places, mass, (mu,) * n, height, tuple((mass * rng.uniform(0.05, 0.5, 3 if spatial else 1)).tolist()),
            GRAVITY, _forces(block, along, spatial), block.plate, tuple(block.belt * a for a in along.tolist()),
        )  # fmt: skip
        system, total = system_of(body)
        lifted = translated(body, along)
        reference = Reference()
        for (start, end, piece), mode in zip(motion.pieces, motion.modes, strict=True):
            reference.add(start, end, lambda t, piece=piece, lifted=lifted: lifted(*piece(t)), mode)
        q0, v0, _ = reference(np.array([0.0]))
        text = f"{kind}, {n} feet, " + (f"mu {mu:.2f}" if mu else "smooth")
        return Case(name, text, system, (0.0, span), q0[0], v0[0], reference, total)
    raise Unfit(f"no fit model for {name}, seed {seed}")


def _forces(block: Block, along: np.ndarray, spatial: bool) -> tuple[Signal, ...]:
    if spatial:
        return block.pull * float(along[0]), block.pull * float(along[1]), block.lift
    return block.pull, block.lift


# ---- bodies that tip


def moments(rng: np.random.Generator, tip: float) -> Signal:
    """Draw a moment that tips a body which holds up to `tip`: a ramp, a swing, or both."""
    way = rng.integers(3)
    sign = 1.0 if rng.random() < 0.5 else -1.0
    if way == 0:
        return Signal((0.0, sign * tip * uniform(rng, 1.2, 4.0)))
    if way == 1:
        return wave(rng, tip * uniform(rng, 0.8, 1.8))
    return Signal((0.0, sign * tip * uniform(rng, 0.5, 1.2))) + wave(rng, tip * uniform(rng, 0.1, 0.5))


def tilted(seed: int) -> Case:
    """Draw a smooth body, plane or space, under moments that tip it over an edge: one side releases together."""
    for attempt in range(DRAWS):
        rng = np.random.default_rng([seed, 11, attempt])
        kind = ("planar", "spatial")[int(rng.integers(2))]
        n = int(rng.integers(2 if kind == "planar" else 3, 7))
        mass, span = log_uniform(rng, 0.2, 20.0), uniform(rng, 0.5, 1.5)
        weight = mass * GRAVITY
        try:
            places, near = standing(rng, kind, n)
            wide = float(np.abs(places).max())
            inertia = tuple((mass * wide**2 * rng.uniform(0.3, 2.0, 3 if kind == "spatial" else 1)).tolist())
            turning = [moments(rng, weight * near)]
            if kind == "spatial":
                turning += [moments(rng, weight * near * uniform(rng, 0.0, 0.6)), ZERO]
                if rng.random() < 0.5:
                    turning[:2] = turning[1::-1]
            lift = wave(rng, weight * uniform(rng, 0.05, 0.4)) if rng.random() < 0.4 else ZERO
            forces = (*([ZERO] * (2 if kind == "spatial" else 1)), lift, *turning)
            body = Body(kind, places, mass, (0.0,) * n, uniform(rng, 0.0, 1.0), inertia, GRAVITY, forces)
            system, total = system_of(body)
            loads = list(forces)
            loads[body.up] = loads[body.up] - constant(weight)
            reference = steady_motion(Tipping(body.masses, loads, total), span)
        except Unfit:
            continue
        if len(reference.pieces) < 2:
            continue
        q0 = np.zeros(body.nv)
        return Case("tilted", f"{kind}, {n} feet, smooth", system, (0.0, span), q0, q0, reference, total)
    raise Unfit(f"no fit model for tilted, seed {seed}")


def tilted_sticking(seed: int) -> Case:
    """Draw a body with rough feet that tips over the feet of one side, which stick; linear gaps, plane and space."""
    for attempt in range(DRAWS):
        rng = np.random.default_rng([seed, 12, attempt])
        spatial = rng.random() < 0.5
        n = int(rng.integers(2, 4)) if spatial else int(rng.integers(2, 7))
        mass, span, height = log_uniform(rng, 0.2, 20.0), uniform(rng, 0.5, 1.5), uniform(rng, 0.0, 0.8)
        weight = mass * GRAVITY
        try:
            places, near = standing(rng, "planar", n)
            inertia = mass * uniform(rng, 0.3, 2.0) * float(np.abs(places).max()) ** 2
            pull = wave(rng, weight * uniform(rng, 0.02, 0.15)) if rng.random() < 0.6 else ZERO
            moment = moments(rng, weight * near)
            plane = Body("planar", places, mass, (0.0,) * n, height, (inertia,), GRAVITY, (pull, ZERO, moment))
            _, W = system_of(plane)
            rows = np.array([[1.0], [0.0], [height]])
            loads = [pull, constant(-weight), moment]
            tipping = Tipping(plane.masses, loads, W, rows)
            reference = steady_motion(tipping, span)
            mu = friction_needed(reference, tipping, span) * uniform(rng, 1.1, 2.0)
        except Unfit:
            continue
        if len(reference.pieces) < 2 or not 0.1 <= mu <= 1.0:
            continue
        if not spatial:
            rough = Body("planar", places, mass, (mu,) * n, height, (inertia,), GRAVITY, (pull, ZERO, moment))
            system, total = system_of(rough)
            text = f"planar, {n} feet, mu {mu:.2f}"
            return Case("tilted_sticking", text, system, (0.0, span), np.zeros(3), np.zeros(3), reference, total)
        across = rng.uniform(0.2, 0.8, n)
        corners = np.concatenate([np.stack([places, across], axis=1), np.stack([places, -across], axis=1)])
        inertias = (mass * uniform(rng, 0.1, 0.6), inertia, mass * uniform(rng, 0.1, 0.6))
        forces = (pull, ZERO, ZERO, ZERO, -moment, ZERO)
        rough = Body("spatial", corners, mass, (mu,) * (2 * n), height, inertias, GRAVITY, forces)
        system, total = system_of(rough)
        text = f"spatial, {2 * n} feet, mu {mu:.2f}"
        q0 = np.zeros(6)
        return Case("tilted_sticking", text, system, (0.0, span), q0, q0, in_space(reference), total)
    raise Unfit(f"no fit model for tilted_sticking, seed {seed}")


IN_SPACE = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, -1], [0, 0, 0]], dtype=float)


def in_space(plane: Reference) -> Reference:
    """A motion in the plane as that of a body in space which turns about the axis y, whose angle counts backwards."""
    made = Reference()
    for (start, end, piece), mode in zip(plane.pieces, plane.modes, strict=True):
        made.add(start, end, lambda t, piece=piece: tuple(part @ IN_SPACE.T for part in piece(t)), mode)
    return made


def friction_needed(reference: Reference, tipping: Tipping, span: float) -> float:
    """Largest friction over normal force of all feet together, in contact and in impacts."""
    needed = 0.0
    for start, end, piece in reference.pieces:
        t = np.linspace(start, end, 400)
        i = piece(t)[2]
        force = np.gradient(i, t, axis=0)[2:-2]
        if force[:, 1].min() <= 1e-3 * np.abs(force).max():
            raise Unfit("the body nearly flies")
        needed = max(needed, float((np.abs(force[:, 0]) / force[:, 1]).max()))
    for impulse in tipping.impulses:
        needed = max(needed, abs(impulse[0]) / impulse[1]) if impulse[1] > 0.0 else np.inf
    return needed


def tilted_far(seed: int) -> Case:
    """Draw a plank that tips over its edge by a large angle; the edge sticks, or slides where feet are smooth."""
    for attempt in range(DRAWS):
        rng = np.random.default_rng([seed, 13, attempt])
        spatial, sticks = rng.random() < 0.4, rng.random() < 0.6
        n = int(rng.integers(2, 4)) if spatial else int(rng.integers(2, 7))
        mass, span, height = log_uniform(rng, 0.2, 20.0), uniform(rng, 0.5, 1.5), uniform(rng, 0.0, 0.6)
        weight = mass * GRAVITY
        try:
            places, near = standing(rng, "planar", n)
        except Unfit:
            continue
        inertia = mass * uniform(rng, 0.3, 1.5) * float(np.abs(places).max()) ** 2
        sign = 1.0 if rng.random() < 0.5 else -1.0
        edge = float(places.min() if sign > 0.0 else places.max())
        moment = Signal((0.0, sign * weight * abs(edge) * uniform(rng, 1.1, 3.0)))
        if rng.random() < 0.4:
            moment = moment + wave(rng, weight * near * uniform(rng, 0.05, 0.3))
        found = turned(mass, inertia, edge, height, moment, span, sticks, sign)
        if found is None:
            continue
        reference, needed = found
        mu = max(needed * uniform(rng, 1.1, 2.0), 0.1) if sticks else 0.0
        if mu > 1.0:
            continue
        text = f"mu {mu:.2f}" if sticks else "smooth"
        if not spatial:
            body = Body("turning", places, mass, (mu,) * n, height, (inertia,), GRAVITY, (ZERO, ZERO, moment))
            system, total = system_of(body)
            q0, v0 = np.zeros(3), np.zeros(3)
            case = Case("tilted_far", f"turning, {n} feet, {text}", system, (0.0, span), q0, v0, reference)
            case.total = total[:2]
            return case
        across = rng.uniform(0.2, 0.8, n)
        corners = np.concatenate([np.stack([places, across], axis=1), np.stack([places, -across], axis=1)])
        inertias = (mass * uniform(rng, 0.1, 0.6), inertia, mass * uniform(rng, 0.1, 0.6))
        forces = (ZERO, ZERO, ZERO, ZERO, -moment, ZERO)
        body = Body("quaternion", corners, mass, (mu,) * (2 * n), height, inertias, GRAVITY, forces)
        system, total = system_of(body)
        made = Reference()
        for start, end, piece in reference.pieces:
            made.add(start, end, lambda t, piece=piece: about_y(*piece(t)))
        q0 = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        case = Case("tilted_far", f"quaternion, {2 * n} feet, {text}", system, (0.0, span), q0, np.zeros(6), made)
        case.total = total[[0, 2]]
        return case
    raise Unfit(f"no fit model for tilted_far, seed {seed}")


def about_y(q: np.ndarray, v: np.ndarray, i: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A planar motion as one in space with a quaternion."""
    zero = np.zeros(len(q))
    half = -q[:, 2] / 2.0
    places = np.stack([q[:, 0], zero, q[:, 1], np.cos(half), zero, np.sin(half), zero], axis=-1)
    return places, v @ IN_SPACE.T, i


def turned(
    mass: float, inertia: float, edge: float, height: float, moment: Signal, span: float, sticks: bool, sign: float
) -> tuple[Reference, float] | None:
    """The motion of a body about its edge by scipy, and the friction it needs; None where it is unfit.

    One degree of freedom: height of the centre z = -edge sin(angle) - height (1 - cos(angle)); where the edge sticks
    x = edge (1 - cos(angle)) - height sin(angle), else x = 0.
    """
    weight = mass * GRAVITY

    def shape(angle):
        z = -edge * np.sin(angle) - height * (1.0 - np.cos(angle))
        z1 = -edge * np.cos(angle) - height * np.sin(angle)
        z2 = edge * np.sin(angle) - height * np.cos(angle)
        x = edge * (1.0 - np.cos(angle)) - height * np.sin(angle)
        x1 = edge * np.sin(angle) - height * np.cos(angle)
        x2 = edge * np.cos(angle) + height * np.sin(angle)
        return (z, z1, z2), (x, x1, x2) if sticks else (0.0 * x, 0.0 * x, 0.0 * x)

    def turn(t, angle, rate):
        (_, z1, z2), (_, x1, x2) = shape(angle)
        driven = moment.at(t) - weight * z1 - mass * (z1 * z2 + x1 * x2) * rate**2
        return driven / (inertia + mass * (z1**2 + x1**2))

    crossed = first_crossing([lambda s: -sign * (moment.at(s) + weight * edge)], 0.0, span, span)
    if crossed is None or crossed[0] > 0.9 * span:
        return None
    start = crossed[0]
    solved = solve_ivp(
        lambda t, y: [y[1], turn(t, y[0], y[1])], (start, span), [0.0, 0.0],
        method="DOP853", rtol=1e-13, atol=1e-15, dense_output=True, max_step=span / 50.0,
    )  # fmt: skip
    angles = solved.sol(np.linspace(start, span, 400))[0] * sign
    if angles.max() > 1.0 or angles.min() < -1e-12 or np.any(angles[20:] < 1e-9):
        return None

    def rest(t):
        zero = np.zeros((len(t), 3))
        return zero, zero, np.stack([0.0 * t, weight * t], axis=-1)

    def piece(t):
        angle, rate = solved.sol(t)
        (z, z1, _), (x, x1, _) = shape(angle)
        v = np.stack([x1 * rate, z1 * rate, rate], axis=-1)
        return np.stack([x, z, angle], axis=-1), v, np.stack([mass * v[:, 0], mass * v[:, 1] + weight * t], axis=-1)

    t = np.linspace(start, span, 400)
    angle, rate = solved.sol(t)
    (_, z1, z2), (_, x1, x2) = shape(angle)
    acceleration = turn(t, angle, rate)
    normal = weight + mass * (z1 * acceleration + z2 * rate**2)
    rubbed = mass * (x1 * acceleration + x2 * rate**2)
    if normal.min() < 0.05 * weight:
        return None
    made = Reference()
    made.add(0.0, start, rest, "rest")
    made.add(start, span, piece, "tips")
    return made, float((np.abs(rubbed) / normal).max())


# ---- motions that need not be unique


def yawing(seed: int) -> Case:
    """Draw a table that slides and yaws: forces of single feet decide how it turns, and they need not be unique.

    What is left to judge: forces are admissible, the energy closes, and another order of the contacts changes nothing.
    """
    rng = np.random.default_rng([seed, 14])
    kind = ("spatial", "quaternion")[int(rng.integers(2))]
    n = int(rng.integers(4, 7))
    mass, span, mu = log_uniform(rng, 0.2, 20.0), uniform(rng, 0.5, 2.0), uniform(rng, 0.1, 1.0)
    grip = mu * mass * GRAVITY
    places, near = standing(rng, kind, n)
    height = uniform(rng, 0.0, min(0.5 * near / mu, 1.0))
    inertia = tuple((mass * rng.uniform(0.1, 0.6, 3)).tolist())
    pulls = [wave(rng, grip * uniform(rng, 0.2, 1.2)) for _ in range(2)]
    moment = wave(rng, grip * near * uniform(rng, 0.2, 1.5))
    q0 = np.zeros(6 if kind == "spatial" else 7)
    if kind == "quaternion":
        q0[3] = 1.0
    v0 = np.zeros(6)
    if rng.random() < 0.5:
        v0[:2], v0[5] = rng.uniform(-1.0, 1.0, 2), uniform(rng, -2.0, 2.0)
    body = Body(kind, places, mass, (mu,) * n, height, inertia, GRAVITY, (*pulls, ZERO, ZERO, ZERO, moment))
    order = tuple(map(int, rng.permutation(n)))
    again = system_of(dataclasses.replace(body, order=order))[0]
    case = Case("yawing", f"{kind}, {n} feet, mu {mu:.2f}", system_of(body)[0], (0.0, span), q0, v0, again=again)
    case.ledger = case.curved = case.rubs = True
    return case


CLASSES = {
    **{name: (lambda seed, name=name: translation(name, seed)) for name in TRANSLATIONS},
    "tilted": tilted,
    "tilted_sticking": tilted_sticking,
    "tilted_far": tilted_far,
    "yawing": yawing,
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
    given = options(__doc__, 40, ("hp-tdg", "event-driven"), CLASSES)
    jobs = [
        Job("feet", seed, scheme, tol, (("name", name),))
        for name in given.only
        for seed in range(given.seed, given.seed + given.count)
        for scheme in given.scheme
        for tol in given.tol
    ]
    finish("feet", run_jobs(jobs, LIMIT, workers=given.workers), given)


if __name__ == "__main__":
    main()
