"""The contract of a tolerance on 1000 random systems: distribution of L1 error / (tol * scale), failures, set aside.

20 structures (1-6 degrees of freedom, 1-4 contacts, constant or varying masses, plane, curved and moving walls, some
with friction, some with a joint), 50 draws of all numbers for each; e in [0, 0.95], tol in 1e-3 ... 1e-10. The
references are EventDriven at tol / 100 by two Runge-Kutta pairs and with two zeno_speeds. Cases are set aside where
the references differ by more than tol * scale (see contract.py), and where a start that is changed by tol moves the
motion by more than 100 tol * scale: there it need not depend continuously on the data.

`python contract_random.py --scheme event-driven --count 1000`, a single case again: `--seed 123 [--tol 1e-8]`
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter

import numpy as np
from contract import (
    QUANTITIES,
    Reference,
    Result,
    chosen_scheme,
    curve,
    factory_of,
    flagship,
    l1,
    measured,
    message_of,
    scheme_named,
)
from rich.console import Console
from rich.progress import track
from rows import Row

import saltus as sl

EXAMPLES = 1000
STRUCTURES = 20
FINER = 100.0  # how much finer the references are
JUMP = 100.0  # times tol * scale: a start changed by tol that leads farther away
WORST = 12  # cases printed


@dataclasses.dataclass(frozen=True)
class Structure:
    """What decides about the compiled code: everything but numbers."""

    n: int
    walls: tuple[str, ...]  # "plane", "moving", "inside" or "outside" (of a ball), "rough" (plane with friction)
    varying: bool  # M(q)
    joint: bool

    def __str__(self) -> str:
        extra = ", M(q)" * self.varying + ", joint" * self.joint
        return f"{self.n} dof, {' '.join(self.walls)}{extra}"


def structure(number: int) -> Structure:
    """Return one of the structures: each size occurs, two of five have friction, one of five a joint."""
    rng = np.random.default_rng([number, 71])
    n, contacts = 1 + number % 6, 1 + (number // 2) % 4
    kinds = ["plane", "moving"] + ["inside", "outside"] * (n > 1) + ["rough"] * (n > 1 and number % 5 in (1, 3))
    walls = rng.choice(kinds, contacts).tolist()
    if "rough" in kinds:
        walls[0] = "rough"
    return Structure(n, tuple(walls), bool(n > 1 and number % 3 == 0), bool(n > 2 and number % 5 in (0, 4)))


def spd(rng: np.random.Generator, n: int, low: float, high: float) -> np.ndarray:
    """Draw a full symmetric matrix with eigenvalues in [low, high]."""
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    made = (Q * rng.uniform(low, high, n)) @ Q.T
    return (made + made.T) / 2.0


def direction(rng: np.random.Generator, n: int) -> list[float]:
    """Draw a unit vector."""
    made = rng.normal(size=n)
    return (made / np.linalg.norm(made)).tolist()


def dot(a, x):
    """Sum of products, written out for the tracer."""
    return sum(a[i] * x[i] for i in range(len(a)))


def wall(kind: str, rng: np.random.Generator, q0: np.ndarray, name: str) -> tuple[sl.Contact, np.ndarray]:
    """Draw a contact that is open at q0, by a distance of 0.1 to 1; return it and its normal there."""
    n, e = len(q0), float(rng.uniform(0.0, 0.95))
    normal = direction(rng, n)
    room = float(rng.uniform(0.1, 1.0))
    if kind in ("inside", "outside"):
        radius = float(rng.uniform(1.0, 3.0))
        sign = 1.0 if kind == "inside" else -1.0
        centre = (q0 + sign * (radius - sign * room) * np.array(normal)).tolist()

        def gap(q):
            return sign * (radius - np.sqrt(sum((q[i] - centre[i]) ** 2 for i in range(n))))

        return sl.Contact(gap, e=e, name=name), np.array(normal)
    distance = room - float(np.dot(normal, q0))
    if kind == "moving":
        amplitude, omega, phase = (float(rng.uniform(*ends)) for ends in ((0.01, 0.08), (1.0, 6.0), (0.0, 6.0)))

        def moving(t, q):
            return distance + dot(normal, q) + amplitude * np.sin(omega * t + phase)

        return sl.Contact(moving, e=e, name=name), np.array(normal)

    def plane(q):
        return distance + dot(normal, q)

    if kind == "plane":
        return sl.Contact(plane, e=e, name=name), np.array(normal)
    across = np.array(direction(rng, n))
    across -= np.dot(across, normal) * np.array(normal)
    along = (across / np.linalg.norm(across)).tolist()
    mu = float(rng.uniform(0.05, 0.4))
    contact = sl.Contact(plane, e=e, mu=mu, slip=lambda t, q, v: dot(along, v), name=name)
    return contact, np.array(normal)


def draw(seed: int) -> tuple[sl.Problem, float, Structure]:
    """Return the problem, tolerance and structure of a seed."""
    shape = structure(seed % STRUCTURES)
    rng = np.random.default_rng([seed, 17])
    n = shape.n
    tol = float(10.0 ** rng.uniform(-10.0, -3.0))
    q0, v0 = rng.uniform(-0.5, 0.5, n), rng.uniform(-1.5, 1.5, n)
    mass = spd(rng, n, 0.5, 3.0).tolist()
    K, C = spd(rng, n, 0.2, 4.0).tolist(), spd(rng, n, 0.0, 0.15).tolist()
    bend, cubic = direction(rng, n), float(rng.uniform(0.05, 1.0))
    drive = rng.uniform(-0.6, 0.6, n).tolist()
    omega, phase = float(rng.uniform(0.5, 4.0)), float(rng.uniform(0.0, 6.0))
    couple = float(rng.uniform(0.05, 0.3))

    joints = []
    if shape.joint:  # the last two coordinates stay on a circle around the origin
        q0[-2:] = 1.2 * np.array([np.cos(phase), np.sin(phase)])
        v0[-2:] = v0[-1] * np.array([-np.sin(phase), np.cos(phase)])
        square = float(q0[-2] ** 2 + q0[-1] ** 2)
        joints.append(sl.Joint(lambda q: q[n - 2] ** 2 + q[n - 1] ** 2 - square, name="circle"))
    walls = [wall(kind, rng, q0, f"{kind} {k}") for k, kind in enumerate(shape.walls)]
    # weight that presses against most walls: there are impacts in nearly every run, and long contacts
    load = (rng.normal(0.0, 0.3, n) - sum(rng.uniform(-0.3, 2.5) * normal for _, normal in walls)).tolist()

    def M(q):
        # the first two masses share a part that turns with their difference; its determinant stays positive
        made = [list(row) for row in mass]
        part = couple * np.cos(q[0] - q[1])
        made[0][1], made[1][0] = mass[0][1] + part, mass[1][0] + part
        made[0][0], made[1][1] = mass[0][0] + couple, mass[1][1] + couple
        return made

    def f(t, q, v):
        turn = cubic * dot(bend, q) ** 3
        swing = np.cos(omega * t + phase)
        made = [load[i] + drive[i] * swing - turn * bend[i] - dot(K[i], q) - dot(C[i], v) for i in range(n)]
        if shape.varying:  # what the varying mass adds, couple sin(q0 - q1) times squares of the velocities
            twist = couple * np.sin(q[0] - q[1])
            made[0], made[1] = made[0] - twist * v[1] ** 2, made[1] + twist * v[0] ** 2
        return made

    system = sl.System(
        M if shape.varying else mass,
        f,
        contacts=[contact for contact, _ in walls],
        joints=joints,
        name=f"random {seed}",
    )
    span = (0.0, float(rng.uniform(3.0, 9.0)))
    return sl.Problem(system, span, q0, v0, name=f"seed {seed}"), tol, shape


def references(problem: sl.Problem, tol: float, factory=None) -> Reference:
    """Return a run at tol / 100 and its difference from a second one; factory: of the first, EventDriven by default."""
    fine = tol / FINER
    first = sl.EventDriven(rtol=fine, atol=fine) if factory is None else factory(fine)
    second = sl.EventDriven(rtol=fine, atol=fine, method="dopri5", zeno_speed=3.0 * np.sqrt(fine))
    one, two = (sl.solve(problem, scheme=scheme, progress=False) for scheme in (first, second))
    return Reference(one, distance(two, one))


def distance(found: sl.Solution, wanted: sl.Solution) -> dict[str, float]:
    """Return the L1 distances of two runs over the same span."""
    return {name: l1(wanted.t, curve(found, name), curve(wanted, name), 1)[0] for name in QUANTITIES}


def reach(problem: sl.Problem, shape: Structure, tol: float, reference: sl.Solution, seed: int) -> dict[str, float]:
    """Return how far starts changed by tol lead from the reference, forth and back along a random direction."""
    free = shape.n - 2 if shape.joint else shape.n  # the others must stay on their circle
    change = np.random.default_rng([seed, 5]).normal(size=(2, shape.n))
    change[:, free:] = 0.0
    change *= tol / np.linalg.norm(change)
    scheme = sl.EventDriven(rtol=tol / FINER, atol=tol / FINER)
    farthest = dict.fromkeys(QUANTITIES, 0.0)
    for sign in (-1.0, 1.0):
        start = problem.q0 + sign * change[0], problem.v0 + sign * change[1]
        moved = sl.solve(problem.system, problem.t_span, *start, scheme=scheme, progress=False)
        farthest = {name: max(farthest[name], value) for name, value in distance(moved, reference).items()}
    return farthest


def judged(seed: int, factory, tol: float | None = None, *, own: bool = False) -> tuple[Result | None, float, str]:
    """Return the Result of a seed and how far a start changed by tol leads [tol scale]; or None and why."""
    problem, drawn, shape = draw(seed)
    tol = drawn if tol is None else tol
    try:
        reference = references(problem, tol, factory if own else None)
        result = measured(f"seed {seed}", problem, factory(tol), tol, reference)
        moved = reach(problem, shape, tol, reference.source, seed)
    except Exception as error:  # a study of failures stops at none of them
        return None, 0.0, message_of(error)
    return result, max(moved[name] / (tol * result.scales[name]) for name in QUANTITIES), ""


@dataclasses.dataclass
class Study:
    """What a run over many seeds found."""

    results: dict[int, Result]
    moved: dict[int, float]
    broken: dict[int, str]  # references failed

    @property
    def differing(self) -> list[int]:
        return [seed for seed, r in self.results.items() if r.doubt > 1.0]

    @property
    def jumping(self) -> list[int]:
        return [seed for seed, r in self.results.items() if r.doubt <= 1.0 and self.moved[seed] > JUMP]

    @property
    def compared(self) -> dict[int, Result]:
        aside = {*self.differing, *self.jumping, *self.failed}
        return {seed: r for seed, r in self.results.items() if seed not in aside}

    @property
    def failed(self) -> dict[int, str]:
        return {seed: r.message for seed, r in self.results.items() if r.message}


def study(factory, seeds, *, own: bool = False) -> Study:
    """Judge a scheme on many seeds, those of one structure after each other."""
    made = Study({}, {}, {})
    order = sorted(seeds, key=lambda seed: (seed % STRUCTURES, seed))
    for seed in track(order, description="random systems", console=Console(file=sys.stderr)):
        result, moved, why = judged(seed, factory, own=own)
        if result is None:
            made.broken[seed] = why
        else:
            made.results[seed], made.moved[seed] = result, moved
    return made


def show(made: Study, console: Console) -> None:
    """Print the distribution, the worst cases with their seeds, and what failed."""
    compared = made.compared
    ratios = np.array([r.ratio for r in compared.values()])
    plain = np.array([r.plain for r in compared.values()])
    work, events = (np.array([getattr(r, name) for r in compared.values()]) for name in ("evaluations", "events"))
    for name, values in (
        ("L1 error / (tol scale)", ratios),
        ("L1 error / tol", plain),
        ("force evaluations", work),
        ("rows of events", events),
    ):
        low, high, higher = np.percentile(values, [50, 90, 99])
        console.print(f"{name:24s} 50 % {low:8.3g}   90 % {high:8.3g}   99 % {higher:8.3g}   worst {values.max():8.3g}")
    console.print(
        f"compared {len(compared)}, of these {np.count_nonzero(ratios <= 1.0)} within tol scale "
        f"({100.0 * np.mean(ratios <= 1.0):.1f} %); set aside {len(made.differing)} whose references differ and "
        f"{len(made.jumping)} whose motion jumps with the data; failed {len(made.failed)}; without reference "
        f"{len(made.broken)}"
    )
    for seed in sorted(compared, key=lambda seed: -compared[seed].ratio)[:WORST]:
        r = compared[seed]
        parts = " ".join(f"{name} {value:.2g}" for name, value in r.ratios.items())
        console.print(
            f"  --seed {seed:<5d} tol {r.tol:.1e}  {parts}  doubt {r.doubt:.2g}  moved {made.moved[seed]:.2g}  "
            f"{r.events} events  ({structure(seed % STRUCTURES)})"
        )
    for title, messages in (("failed", made.failed), ("without reference", made.broken)):
        for text, count in Counter(message[:100] for message in messages.values()).most_common():
            seeds = [seed for seed, message in messages.items() if message[:100] == text]
            console.print(f"  {title}, {count} times, seeds {seeds[:8]}: {text}")
    console.print(f"  references differ: seeds {made.differing[:30]}")
    console.print(f"  motion jumps: seeds {made.jumping[:30]}")


def measure() -> list[Row]:
    """Return the 99 % quantile, the worst ratio and the failures."""
    made = study(factory_of(flagship()), range(EXAMPLES))
    ratios = np.array([r.ratio for r in made.compared.values()])
    aside = len(made.differing) + len(made.jumping)
    note = f"{len(ratios)} systems compared, {aside} set aside, {len(made.broken)} without reference"
    return [
        Row(
            "random systems, L1 error over tol scale, 99 %", float(np.percentile(ratios, 99)), "at most", 1.0, "", note
        ),
        Row("random systems, L1 error over tol scale, worst", float(ratios.max()), "at most", 10.0, ""),
        Row("random systems that ended in an error", len(made.failed), "at most", 0, ""),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen_scheme(parser)
    parser.add_argument("--count", type=int, default=EXAMPLES, help="number of systems")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seed", type=int, default=None, help="one case alone, with its numbers")
    parser.add_argument("--tol", type=float, default=None, help="tolerance of --seed in place of the drawn one")
    parser.add_argument("--own", action="store_true", help="the first reference by the scheme itself at tol / 100")
    given = parser.parse_args()
    console = Console(width=max(Console().width, 160), highlight=False)
    factory = factory_of(scheme_named(given.scheme))
    if given.seed is not None:
        result, moved, why = judged(given.seed, factory, given.tol, own=given.own)
        console.print(str(structure(given.seed % STRUCTURES)), result if result is not None else why)
        if result is not None and not result.message:
            ratios = ", ".join(f"{name} {value:.3g}" for name, value in result.ratios.items())
            console.print(f"error / (tol scale): {ratios}; doubt {result.doubt:.3g}, moved {moved:.3g}")
    else:
        show(study(factory, range(given.first, given.first + given.count), own=given.own), console)
