"""Bodies on one to six feet, coincident or at different places, in the plane and in space: lifted, pulled, shaken, tilted.

Wherever the motion is unique it must be that of the body on the fewest feet that hold it, whose motion is known in
closed form (block.py for translations, cone.py for bodies that tip). Every run: contact forces admissible at 1000
random times. `python feet.py --count 5 --only lifted tilted`, one model again: `--seed 17 --count 1 --only lifted`.
"""

from __future__ import annotations

import numpy as np
from block import Block, block_motion
from bodies import Body, system_of, translated
from judge import Case, Job, Verdict, finish, judged, options, run_jobs
from reference import Reference, Unfit
from signals import ZERO, Signal, constant

LIMIT = 30.0  # seconds of wall time in which a run of some hundred steps has to end
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
        return {"lift": ramp + wave(rng, weight * uniform(rng, 0.1, 0.4)), "pull": wave(rng, grip * uniform(rng, 0.1, 2))}
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
        plate = wave(rng, 1.0)
        a, w, phase = plate.waves[0]
        plate = Signal((), ((uniform(rng, 0.1, 0.9) * GRAVITY / w**2, w, phase),))
        made["plate"] = plate + constant(-float(plate.at(0.0)))
    return made


TRANSLATIONS = ("lifted", "pulled", "shaken", "carried")
ARRANGEMENTS = ("point", "point", "spatial point", "planar", "planar", "turning", "spatial", "quaternion")


def translation(name: str, seed: int) -> Case:
    """Draw a body that translates: lifted, pulled, shaken or carried."""
    for attempt in range(DRAWS):
        rng = np.random.default_rng([seed, TRANSLATIONS.index(name), attempt])
        kind = ARRANGEMENTS[int(rng.integers(len(ARRANGEMENTS)))]
        n = int(rng.integers({"point": 1, "spatial point": 1, "planar": 2, "turning": 2}.get(kind, 3), 7))
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
            reference.add(start, end, lambda t, piece=piece: lifted(*piece(t)), mode)
        q0, v0, _ = reference(np.array([0.0]))
        text = f"{kind}, {n} feet, " + (f"mu {mu:.2f}" if mu else "smooth")
        return Case(name, text, system, (0.0, span), q0[0], v0[0], reference, total)
    raise Unfit(f"no fit model for {name}, seed {seed}")


def _forces(block: Block, along: np.ndarray, spatial: bool) -> tuple[Signal, ...]:
    if spatial:
        return block.pull * float(along[0]), block.pull * float(along[1]), block.lift
    return block.pull, block.lift


CLASSES = {name: (lambda seed, name=name: translation(name, seed)) for name in TRANSLATIONS}


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
