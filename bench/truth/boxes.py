"""Random boxes that fall on a rough floor, in the plane and in space: all come to rest within 20 s.

Rectangles, polygons and planks in the plane, boxes in space; two to eight corners as contacts, level floors and slopes
below the angle of friction, sometimes a wall; mu .05 ... 1, e 0 ... .8, impacts by Poisson's and by Newton's law.
Judged: the run ends, in time; what it reports is at rest; energy closes to 1e-8 of what was moved; nothing falls
through; Poisson's law gains no energy, and where Newton's does, a row `gain` says so. The count is that of planar
boxes; a fifth of it is drawn in space. `python boxes.py --count 1000`; `--seed 17 --count 1 --only planar_poisson`.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from judge import Case, Job, Verdict, finish, judged, options, run_jobs

import saltus as sl
from saltus.problems._quaternion import cross, normalised, rate, rotate

SPAN = 20.0  # seconds until everything rests
LIMIT = 20.0  # seconds of processor time
COMPILING = 40.0  # more of them for the first run of a structure
GRAVITY = 9.81
STILL = 1e-6  # of the largest speed: what counts as rest
NO_SPEED = 1e-9  # m/s of a body at rest, and seconds behind the time from which it rests
DEEP = 0.1  # of the promise tol (1 + |q|): largest penetration
LOOKS = 500  # random times at which gaps are looked at
BACK = 1e-9  # of the energy moved: what the impacts of one time may gain
GIVEN_SHARE = 1e-2  # tolerances: the same of lasting contacts, whose forces do work on the errors of velocities
SPATIAL_SHARE = 5  # planar boxes per spatial one


def uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def rests(sol: sl.Solution, tol: float) -> str | None:
    """Whether the end is rest: no speed, and no motion in the half second before."""
    fastest = float(np.linalg.norm(sol.v, axis=1).max())
    speed = float(np.linalg.norm(sol.v[-1]))
    if speed > STILL * fastest:
        return f"not at rest: speed {speed:.1e} of {fastest:.1e} at {sol.t[-1]:g} s"
    moved = float(np.abs(sol.q[-1] - sol(sol.t[-1] - 0.5).q).max())
    if moved > STILL * fastest:
        return f"moved by {moved:.1e} in the last half second"
    return None


def silent_at_rest(sol: sl.Solution, tol: float) -> str | None:
    """Nothing happens to a body at rest: no rows of events behind the time from which all speeds are zero."""
    fast = np.abs(sol.v).max(axis=1) > NO_SPEED
    fast[:-1] |= np.abs(sol(0.5 * (sol.t[:-1] + sol.t[1:])).v).max(axis=1) > NO_SPEED  # it may stop and fall again
    moving = np.flatnonzero(fast)
    since = sol.t[min(moving[-1] + 1, len(sol.t) - 1)] if len(moving) else sol.t[0]
    rows = sol.events[sol.events["t"] > since + NO_SPEED]
    return f"{len(rows)} events at rest, the first a {rows['kind'][0]}" if len(rows) else None


def stays_outside(sizes: float):
    """A check that no corner is below the floor at random times."""

    def check(sol: sl.Solution, tol: float) -> str | None:
        t = np.random.default_rng(3).uniform(sol.t[0], sol.t[-1], LOOKS)
        q = sol(t).q
        deepest = min(float(contact.gap(q.T).min()) for contact in sol.system.contacts)
        allowed = DEEP * tol * (1.0 + float(np.abs(q).max()))
        return f"a corner is {-deepest / sizes:.1e} of the size inside" if deepest < -allowed else None

    return check


def energy_returns(sol: sl.Solution, tol: float) -> str | None:
    """Whether impacts gain energy without a row that says so, or lasting contacts give back what they took."""
    energy = sol.energy
    moved = max(float(np.abs(energy.kinetic).max()), float(np.abs(energy.work).max()))
    impacts = sol.events[sol.events["kind"] == "impact"]
    _, together = np.unique(impacts["t"], return_inverse=True)
    gained = float(np.bincount(together, impacts["energy"]).max(initial=0.0)) / moved if len(impacts) else 0.0
    newton = sol.system.contacts[0].impact == "newton"
    if gained > BACK and not (newton and np.any(sol.events["kind"] == "gain")):
        return f"impacts gain {gained:.1e} of the energy" + (" and no row says so" if newton else "")
    given = float(-np.diff(energy.dissipation.sum(axis=1)).min(initial=0.0)) / moved
    if given > BACK + GIVEN_SHARE * tol and not np.any(sol.events["kind"] == "gain"):
        return f"lasting contacts give {given:.1e} of the energy back"
    return None


def rests_or_gains(sol: sl.Solution, tol: float) -> str | None:
    """Newton's law may keep a box going: then a row `gain` says why."""
    return None if np.any(sol.events["kind"] == "gain") else rests(sol, tol)


def corner_in_plane(arm: tuple[float, float], e: float, mu: float, law, wall: float | None, name: str) -> sl.Contact:
    """Corner of a body q = (x, z, angle) against the floor z = 0, or against a wall at x = wall."""
    ax, az = arm

    def across(q):
        return q[0] + ax * np.cos(q[2]) - az * np.sin(q[2])

    def up(q):
        return q[1] + ax * np.sin(q[2]) + az * np.cos(q[2])

    if wall is not None:
        return sl.Contact(
            lambda q: wall - across(q), e=e, mu=mu, impact=law, name=name,
            slip=lambda t, q, v: v[1] + (ax * np.cos(q[2]) - az * np.sin(q[2])) * v[2],
        )  # fmt: skip
    return sl.Contact(
        up, e=e, mu=mu, impact=law, name=name,
        slip=lambda t, q, v: v[0] - (ax * np.sin(q[2]) + az * np.cos(q[2])) * v[2],
    )  # fmt: skip


def planar(law: str, seed: int) -> Case:
    """Draw a box in the plane."""
    rng = np.random.default_rng([seed, 1])
    mu, e = uniform(rng, 0.05, 1.0), uniform(rng, 0.0, 0.8)
    a, b = uniform(rng, 0.1, 0.6), uniform(rng, 0.1, 0.6)
    shape = ("plank", "box", "box", "polygon")[int(rng.integers(4))]
    if shape == "plank":  # its upper corners are no contacts, so it must not turn over
        a, b = max(a, b), min(a, b, 0.5 * max(a, b))
        arms = [(-a, -b), (a, -b)]
    elif shape == "box":
        arms = [(-a, -b), (a, -b), (a, b), (-a, b)]
    else:
        n = int(rng.integers(3, 6))
        angles = 2.0 * np.pi * (np.arange(n) + rng.uniform(-0.12, 0.12, n)) / n
        radii = a * rng.uniform(0.88, 1.12, n)
        arms = [(float(r * np.cos(s)), float(r * np.sin(s))) for r, s in zip(radii, angles, strict=True)]
    size = max(float(np.hypot(*arm)) for arm in arms)
    mass = float(np.exp(rng.uniform(np.log(0.1), np.log(30.0))))
    inertia = mass * size**2 * uniform(rng, 0.2, 0.6)
    level = mu < 0.15 or rng.random() < 0.5
    steepest = min(0.5 * mu, 0.4 * min(a / b, b / a), 0.15 if shape == "polygon" else 1.0)
    slope = 0.0 if level else float(np.arctan(uniform(rng, 0.0, steepest)))
    tilt = uniform(rng, -0.4, 0.4) if shape == "plank" else uniform(rng, -np.pi, np.pi)
    spin = uniform(rng, -1.0, 1.0) if shape == "plank" else uniform(rng, -3.0, 3.0)
    across = uniform(rng, -1.0, 1.0)
    weight = mass * GRAVITY
    wall = size + uniform(rng, 0.05, 0.5) if rng.random() < 0.25 else None
    contacts = [corner_in_plane(arm, e, mu, law, None, f"corner {k}") for k, arm in enumerate(arms)]
    if wall is not None:
        contacts += [corner_in_plane(arm, e, mu, law, wall, f"wall {k}") for k, arm in enumerate(arms)]
    force = [weight * float(np.sin(slope)), -weight * float(np.cos(slope)), 0.0]
    system = sl.System(M=[mass, mass, inertia], f=force, contacts=contacts, name=shape)
    start = np.array([0.0, 0.0, tilt])
    start[1] = uniform(rng, 0.02, 0.6) - min(float(contact.gap(start)) for contact in contacts[: len(arms)])
    text = f"{shape}, {len(contacts)} contacts{', slope' * (slope > 0.0)}{', wall' * (wall is not None)}"
    checks = [rests if law == "poisson" else rests_or_gains, silent_at_rest, stays_outside(size), energy_returns]
    v0 = np.array([across, 0.0, spin])
    return Case(f"planar_{law}", text, system, (0.0, SPAN), start, v0, checks=checks, ledger=True)


def spatial(law: str, seed: int) -> Case:
    """Draw a box in space, with a quaternion."""
    rng = np.random.default_rng([seed, 2])
    mu, e = uniform(rng, 0.05, 1.0), uniform(rng, 0.0, 0.8)
    halves = rng.uniform(0.08, 0.5, 3)
    plank = rng.random() < 0.25
    if plank:  # only the lower corners are contacts
        halves[2] = 0.5 * min(halves[0], halves[1])
    size = float(np.linalg.norm(halves))
    mass = float(np.exp(rng.uniform(np.log(0.1), np.log(30.0))))
    inertia = (mass / 3.0 * (np.square(halves).sum() - np.square(halves)) * rng.uniform(0.9, 1.1, 3)).tolist()
    level = mu < 0.15 or rng.random() < 0.6
    steepest = min(0.5 * mu, 0.4 * halves.min() / halves.max())
    slope = 0.0 if level else float(np.arctan(uniform(rng, 0.0, steepest)))
    heading = uniform(rng, 0.0, 2.0 * np.pi)
    downhill = [float(np.sin(slope) * np.cos(heading)), float(np.sin(slope) * np.sin(heading)), -float(np.cos(slope))]
    weight = [mass * GRAVITY * part for part in downhill]

    def f(t, q, v):
        turn = cross(v[3:6], [inertia[0] * v[3], inertia[1] * v[4], inertia[2] * v[5]])
        return [*weight, -turn[0], -turn[1], -turn[2]]

    def q_dot(q, v):
        return [v[0], v[1], v[2], *rate(q[3:7], v[3:6])]

    def retract(q):
        return [q[0], q[1], q[2], *normalised(q[3:7])]

    def corner(signs) -> sl.Contact:
        arm = [float(sign * half) for sign, half in zip(signs, halves, strict=True)]

        def slip(t, q, v):
            swing = rotate(q[3:7], cross(v[3:6], arm))
            return [v[0] + swing[0], v[1] + swing[1]]

        name = "corner " + "".join("+" if sign > 0 else "-" for sign in signs)
        return sl.Contact(lambda q: q[2] + rotate(q[3:7], arm)[2], e=e, mu=mu, impact=law, slip=slip, name=name)

    corners = [corner(signs) for signs in product((-1, 1), repeat=3) if not plank or signs[2] < 0]
    system = sl.System(
        M=np.diag([mass] * 3 + inertia), f=f, contacts=corners, q_dot=q_dot, retract=retract, name="box in space"
    )
    turned = rng.normal(size=4)
    if plank:
        turned = np.array([1.0, *rng.uniform(-0.15, 0.15, 3)])
    start = np.array([0.0, 0.0, 0.0, *normalised(turned)])
    start[2] = uniform(rng, 0.02, 0.5) - min(float(contact.gap(start)) for contact in corners)
    most = 1.0 if plank else 4.0
    v0 = np.array([*rng.uniform(-0.7, 0.7, 2), 0.0, *rng.uniform(-most, most, 3)])
    text = f"{'plank' if plank else 'box'}, {len(corners)} corners{', slope' * (slope > 0.0)}"
    checks = [rests if law == "poisson" else rests_or_gains, silent_at_rest, stays_outside(size), energy_returns]
    return Case(f"spatial_{law}", text, system, (0.0, SPAN), start, v0, checks=checks, ledger=True, curved=True)


CLASSES = {
    f"{space.__name__}_{law}": (lambda seed, space=space, law=law: space(law, seed))
    for space in (planar, spatial)
    for law in ("poisson", "newton")
}


def draw(name: str, seed: int) -> Case:
    """Return the box of a class and a seed."""
    return CLASSES[name](seed)


def described(seed: int, name: str) -> tuple[str, str]:
    case = draw(name, seed)
    return case.name, case.structure


def measured(seed: int, scheme: str, tol: float, name: str) -> Verdict:
    case = draw(name, seed)
    made = judged(case, seed, scheme, tol)
    if made.seconds > LIMIT:  # compilation included once: run again to know
        made = judged(case, seed, scheme, tol)
    if made.seconds > LIMIT:
        made.faults.append(f"took {made.seconds:.0f} s")
    return made


def main() -> None:
    given = options(__doc__, 1000, ("hp-tdg",), CLASSES)
    jobs = []
    for name in given.only:
        count = given.count if name.startswith("planar") else -(-given.count // SPATIAL_SHARE)
        for seed in range(given.seed, given.seed + count):
            tol = given.tol[seed % len(given.tol)]  # the tolerances take turns
            jobs += [Job("boxes", seed, scheme, tol, (("name", name),)) for scheme in given.scheme]
    finish("boxes", run_jobs(jobs, LIMIT + COMPILING, workers=given.workers), given)


if __name__ == "__main__":
    main()
