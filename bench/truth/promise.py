"""Promises one by one: boxes that come to rest, long runs, redundant joints, ties, planks on rough feet, sleepers.

box         planar boxes fall on two corners: no error, energy closes, what rests lies flat on the floor
long_run    an oscillator against a wall, e = 1, 1e3 and 1e4 impacts: ratio at most 1 at tol 1e-10; at 1e-4 and 1e-7
            at most 1, or `sol.message` names the true one
joint       linkages in maximal coordinates with a joint too many: the motion of scipy in minimal coordinates, and at
            most 1.5 times the steps of the linkage without it
tie         the slider-crank to 45 ms: corners that land together near 0.0398 s, the motion behind depends on their
            order; the table of events marks it and `sol.message` counts it
rest_report boxes in space, with several ends: a body at rest has no events
plank       a plank on two different rough feet, pushed: stays while any admissible forces hold it (linear programming),
            then slides in closed form; all schemes that locate events
force, cam, bump, hill, gust: forces and walls that sleep (asleep.py), each with numpy and with a plain `if`
"""

from __future__ import annotations

import re

import asleep
import numpy as np
from boxes import energy_returns, silent_at_rest, stays_outside
from feet import DRAWS, GRAVITY, log_uniform, uniform, wave
from holding import held_range
from judge import Case, Job, Verdict, finish, judged, options, run_jobs
from reference import Reference, Unfit, first_crossing
from scipy.integrate import solve_ivp
from signals import Path, Signal, combined, constant

import saltus as sl

LIMIT = 90.0  # seconds of wall time of a run
LONG = (1000, 10000)  # impacts
JOINT_STEPS = 1.5  # times the steps without the redundant joint
SAMPLES = 5000  # times at which a long run is compared
NAMES_RATIO = 3.0  # a message names the true ratio within this factor
SCHEMES = ("hp-tdg", "event-driven")
PLANK_SCHEMES = (*SCHEMES, "any-order", "splitting")


# ---- boxes that come to rest


def box(seed: int) -> Case:
    """Draw a planar box on its two lower corners; it rests at height b and angle 0."""
    rng = np.random.default_rng([seed, 21])
    half, b, mass = 0.5, 0.2, 1.3
    inertia = 0.13
    if seed % 2:  # every other box has other numbers too
        half, b = uniform(rng, 0.2, 0.8), uniform(rng, 0.05, 0.2)
        mass = log_uniform(rng, 0.1, 20.0)
        inertia = mass * uniform(rng, 0.2, 0.5) * (half**2 + b**2)
    mu, e = uniform(rng, 0.1, 0.8), uniform(rng, 0.05, 0.7)
    tilt, spin, across = uniform(rng, -0.4, 0.4), uniform(rng, -1.0, 1.0), uniform(rng, -1.0, 1.0)

    def corner(sign: float) -> sl.Contact:
        return sl.Contact(
            lambda q: q[1] - b * np.cos(q[2]) + sign * half * np.sin(q[2]), mu=mu, e=e,
            slip=lambda t, q, v: v[0] + (b * np.cos(q[2]) - sign * half * np.sin(q[2])) * v[2],
        )  # fmt: skip

    system = sl.System(M=[mass, mass, inertia], f=[0.0, -mass * GRAVITY, 0.0], contacts=[corner(-1.0), corner(1.0)])

    def lies_flat(sol: sl.Solution, tol: float) -> str | None:
        if float(np.abs(sol.v[-1]).max()) > 1e-9:
            return None  # it still moves at the end
        away = max(abs(sol.q[-1, 1] - b), abs(sol.q[-1, 2]))
        return f"rests {away:.1e} m away from flat" if away > 10.0 * tol else None

    size = float(np.hypot(half, b))
    checks = [lies_flat, silent_at_rest, stays_outside(size), energy_returns]
    start = np.array([0.0, b + half, tilt])
    v0 = np.array([across, 0.0, spin])
    return Case("box", f"mu {mu:.2f}, e {e:.2f}", system, (0.0, 3.0), start, v0, checks=checks, ledger=True)


# ---- long runs


class Periodic(Reference):
    """A motion that repeats itself after each impact; the impulse grows by the same amount each time."""

    def __init__(self, period: float, count: int, end: float, flight, impulse: float):
        super().__init__()
        self.period, self.count, self.end, self.flight, self.impulse = period, count, end, flight, impulse

    @property
    def breaks(self) -> np.ndarray:
        return np.append(self.period * np.arange(self.count), self.end)

    def __call__(self, t):
        number = np.clip(np.searchsorted(self.breaks, t, side="right") - 1, 0, self.count - 1)
        x = t - self.period * number
        q, v = self.flight(x)
        return q[:, None], v[:, None], (self.impulse * number)[:, None]


def long_run(seed: int) -> Case:
    """An oscillator or a ball that returns with the speed it had, many times."""
    rng = np.random.default_rng([seed, 22])
    n = LONG[seed % len(LONG)]
    kind = ("oscillator", "ball")[(seed // len(LONG)) % 2]
    first = seed < len(LONG)
    if kind == "oscillator":
        omega, c, v0 = (
            (2.3, 0.5, 3.1) if first else (uniform(rng, 1.0, 4.0), uniform(rng, 0.1, 1.0), uniform(rng, 1, 4))
        )
        period = 2.0 * np.arctan2(v0 / omega, -c) / omega

        def flight(x):
            q = -c * np.cos(omega * x) + v0 / omega * np.sin(omega * x)
            return q, c * omega * np.sin(omega * x) + v0 * np.cos(omega * x)

        system = sl.System(
            M=1.0, f=lambda t, q, v: [-omega * omega * q[0]], contacts=[sl.Contact(lambda q: q[0] + c, e=1.0)]
        )
        q0 = -c
    else:
        v0, weight = uniform(rng, 0.5, 5.0), uniform(rng, 1.0, 20.0)
        period = 2.0 * v0 / weight

        def flight(x):
            return v0 * x - weight * x**2 / 2.0, v0 - weight * x

        system = sl.System(M=1.0, f=[-weight], contacts=[sl.Contact(lambda q: q[0], e=1.0)])
        q0 = 0.0
    end = float(period * (n - 0.5))
    reference = Periodic(float(period), n, end, flight, 2.0 * v0)
    start = np.array([q0]), np.array([v0])
    text = f"{kind}, {n} impacts"
    return Case("long_run", text, system, (0.0, end), *start, reference, np.eye(1), samples=SAMPLES)


def long_run_measured(seed: int, scheme: str, tol: float) -> Verdict:
    """The ratio, or a message that names it, where the tolerance is not the finest.

    EventDriven promises nothing over so many impacts, but its message must say a bound, and a true one.
    """
    case = long_run(seed)
    said: list[str] = []
    case.checks = [lambda sol, tol: said.append(sol.message)]
    made = judged(case, seed, scheme, tol)
    if tol > 1e-9 and made.faults and said:
        numbers = [abs(float(text)) for text in re.findall(r"\d+\.?\d*(?:e[-+]?\d+)?", said[0])]
        if any(made.ratio / NAMES_RATIO <= number <= made.ratio * NAMES_RATIO for number in numbers):
            made.faults = [fault for fault in made.faults if not fault.startswith("ratio")]
            made.structure += ", ratio said"
    bound = re.search(r"added up to (as much as the motion itself|[\d.e+-]+)", said[0]) if said else None
    if scheme == "event-driven" and made.faults and bound is not None:
        if bound[1].startswith("as much") or made.ratio <= float(bound[1]):
            made.faults = [fault for fault in made.faults if not fault.startswith("ratio")]
            made.structure += ", bound said"
    return made


# ---- a joint too many


def pendulum_pair(rng: np.random.Generator) -> tuple:
    """Double pendulum in maximal coordinates; returns system arguments with and without the joint too many."""
    a, b = uniform(rng, 0.6, 1.4), uniform(rng, 0.4, 1.0)
    m1, m2 = uniform(rng, 0.5, 2.0), uniform(rng, 0.3, 1.5)
    first, second = uniform(rng, -0.7, 0.7), uniform(rng, -0.6, 0.6)
    needed = [
        sl.Joint(lambda q: q[0] ** 2 + q[1] ** 2 - a * a),
        sl.Joint(lambda q: (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - b * b),
    ]
    way = int(rng.integers(4))
    factor = uniform(rng, 0.3, 3.0)
    extra = (
        sl.Joint(lambda q: np.sqrt(q[0] ** 2 + q[1] ** 2) - a),
        sl.Joint(lambda q: factor * (q[0] ** 2 + q[1] ** 2 - a * a)),
        sl.Joint(lambda q: np.sqrt((q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2) - b),
        sl.Joint(lambda q: q[0] ** 2 + q[1] ** 2 - a * a + (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - b * b),
    )[way]

    def rates(t, y):
        s, w = y[:2], y[2:]
        lean = np.cos(s[0] - s[1])
        mass = np.array([[(m1 + m2) * a * a, m2 * a * b * lean], [m2 * a * b * lean, m2 * b * b]])
        turn = m2 * a * b * np.sin(s[0] - s[1])
        right = [
            -turn * w[1] ** 2 - (m1 + m2) * GRAVITY * a * np.sin(s[0]),
            turn * w[0] ** 2 - m2 * GRAVITY * b * np.sin(s[1]),
        ]
        return np.concatenate([w, np.linalg.solve(mass, right)])

    def maximal(y):
        s, w = y[:2], y[2:]
        x, z = a * np.sin(s[0]), -a * np.cos(s[0])
        u, h = a * np.cos(s[0]) * w[0], a * np.sin(s[0]) * w[0]
        q = np.stack([x, z, x + b * np.sin(s[1]), z - b * np.cos(s[1])], axis=-1)
        return q, np.stack([u, h, u + b * np.cos(s[1]) * w[1], h + b * np.sin(s[1]) * w[1]], axis=-1)

    masses = [m1, m1, m2, m2]
    force = [0.0, -m1 * GRAVITY, 0.0, -m2 * GRAVITY]
    return masses, force, needed, extra, rates, maximal, np.array([first, second, 0.0, 0.0]), f"pendulum, extra {way}"


def swing(rng: np.random.Generator) -> tuple:
    """A beam (x, z, angle) on two parallel links, and on three: the third is one too many."""
    length, half = uniform(rng, 0.6, 1.4), uniform(rng, 0.3, 1.0)
    mass = uniform(rng, 0.5, 3.0)
    inertia = mass * uniform(rng, 0.2, 0.5) * half**2
    middle = uniform(rng, -0.8, 0.8) * half
    first = uniform(rng, -0.9, 0.9)

    def link(x: float) -> sl.Joint:
        return sl.Joint(lambda q: (q[0] + x * np.cos(q[2]) - x) ** 2 + (q[1] + x * np.sin(q[2])) ** 2 - length * length)

    def rates(t, y):
        return [y[1], -GRAVITY / length * np.sin(y[0])]

    def maximal(y):
        s, w = y
        zero = 0.0 * s
        q = np.stack([length * np.sin(s), -length * np.cos(s), zero], axis=-1)
        return q, np.stack([length * np.cos(s) * w, length * np.sin(s) * w, zero], axis=-1)

    force = [0.0, -mass * GRAVITY, 0.0]
    needed = [link(-half), link(half)]
    return [mass, mass, inertia], force, needed, link(middle), rates, maximal, np.array([first, 0.0]), "beam, 3 links"


def joint(seed: int, *, redundant: bool = True) -> Case:
    """Draw a linkage."""
    rng = np.random.default_rng([seed, 23])
    make = (pendulum_pair, swing)[seed % 2]
    masses, force, needed, extra, rates, maximal, start, text = make(rng)
    span = uniform(rng, 2.0, 5.0)
    solved = solve_ivp(
        rates, (0.0, span), start, method="DOP853", rtol=1e-13, atol=1e-15, dense_output=True, max_step=span / 100
    )
    reference = Reference()

    def motion(t):
        q, v = maximal(solved.sol(t))
        return q, v, np.zeros((len(t), 0))

    reference.add(0.0, span, motion)
    system = sl.System(M=masses, f=force, joints=[*needed, extra] if redundant else needed)
    q0, v0, _ = motion(np.array([0.0]))
    return Case("joint", text, system, (0.0, span), q0[0], v0[0], reference)


def joint_measured(seed: int, scheme: str, tol: float) -> Verdict:
    """The ratio with the joint too many, and its steps over those without."""
    made = judged(joint(seed), seed, scheme, tol)
    plain = judged(joint(seed, redundant=False), seed, scheme, tol)
    if plain.faults:
        made.faults.append("without the extra joint: " + plain.faults[0])
    if made.steps > JOINT_STEPS * plain.steps + 1:
        made.faults.append(f"{made.steps} steps, {plain.steps} without the extra joint")
    return made


# ---- planks on rough feet


# The plank on which sticking feet were first seen to reverse without end, and pushes that friction holds.
FIRST_PLANK = {
    "mass": 1.0, "inertia": 0.4, "weight": 8.4776, "moment": -4.5075, "arms": (0.8, -1.2), "bends": (-0.2, -0.25),
    "levers": (0.3, -0.2), "lean": (0.1, 0.0), "mus": (0.148, 0.2625),
}  # fmt: skip
FIRST_PUSHES = np.round(np.arange(0.30, 0.80, 0.02), 2)


def plank(seed: int) -> Case:
    """A plank q = (x, z, angle) on feet A and B of different friction, under a push that may overcome it.

    Even seeds: FIRST_PLANK with one of its pushes; odd ones: planks, feet and pushes drawn.
    """
    if seed % 2 == 0:
        push = constant(FIRST_PUSHES[seed // 2 % len(FIRST_PUSHES)])
        return plank_case(**FIRST_PLANK, push=push, span=0.1)
    for attempt in range(DRAWS):
        rng = np.random.default_rng([seed, 24, attempt])
        mass = log_uniform(rng, 0.1, 10.0)
        weight = mass * GRAVITY
        arms = uniform(rng, 0.3, 1.2), -uniform(rng, 0.3, 1.2)
        given = {
            "mass": mass,
            "inertia": mass * uniform(rng, 0.1, 1.0),
            "weight": weight,
            "moment": -weight * uniform(rng, 0.8 * arms[1], 0.8 * arms[0]),
            "arms": arms,
            "bends": (-uniform(rng, 0.0, 0.3), -uniform(rng, 0.0, 0.3)),
            "levers": (uniform(rng, -0.3, 0.4), uniform(rng, -0.3, 0.4)),
            "lean": (uniform(rng, -0.15, 0.15), 0.0),
            "mus": (uniform(rng, 0.1, 1.0), uniform(rng, 0.1, 1.0)),
        }
        span = uniform(rng, 0.3, 1.0)
        try:
            least, most = holdable(*feet_of(given), given)
            way = int(rng.integers(4))
            if way == 0:  # anywhere in what friction holds
                push = constant(least + (most - least) * uniform(rng, 0.01, 0.99))
            elif way == 1:
                push = Signal((0.0, most / span * uniform(rng, 1.2, 4.0)))
            elif way == 2:
                push = (
                    constant(most)
                    + Signal((0.0, most / span * uniform(rng, 0.3, 2.0)))
                    - constant(most * uniform(rng, 0.1, 0.9))
                )
            else:
                half = (most - least) / 2.0
                push = constant(least + half) + wave(rng, half * uniform(rng, 0.5, 0.95))
            return plank_case(**given, push=push, span=span)
        except Unfit:
            continue
    raise Unfit(f"no fit plank for seed {seed}")


def feet_of(given: dict) -> tuple[np.ndarray, np.ndarray]:
    """Columns N and T of the two feet."""
    N = np.array([[0.0, 1.0, arm] for arm in given["arms"]]).T
    return N, np.array([[1.0, aside, lever] for aside, lever in zip(given["lean"], given["levers"], strict=True)]).T


def holdable(N: np.ndarray, T: np.ndarray, given: dict) -> tuple[float, float]:
    """Least and largest push that admissible forces of the feet can hold."""
    load = np.array([0.0, -given["weight"], given["moment"]])
    least, most = held_range(N, T, given["mus"], load, np.array([1.0, 0.0, 0.0]))
    if most - least < 1e-2 * given["weight"]:
        raise Unfit("hardly any push is held")
    return least, most


def plank_case(*, push: Signal, span: float, **given) -> Case:
    """The plank with its motion."""
    N, T = feet_of(given)
    reference, phases = plank_motion(N, T, given, push, span)
    weight, moment = given["weight"], given["moment"]

    def foot(k: int, name: str) -> sl.Contact:
        arm, bend, lever, aside = (given[key][k] for key in ("arms", "bends", "levers", "lean"))
        return sl.Contact(
            lambda q: q[1] + arm * q[2] + bend * q[2] ** 2, mu=given["mus"][k], name=name,
            slip=lambda t, q, v: v[0] + aside * v[1] + lever * v[2],
        )  # fmt: skip

    system = sl.System(
        M=[given["mass"], given["mass"], given["inertia"]],
        f=lambda t, q, v: [push(t), -weight, moment],
        contacts=[foot(0, "A"), foot(1, "B")],
    )
    total = np.stack([N[:, 0], T[:, 0], N[:, 1], T[:, 1]], axis=-1)
    return Case("plank", phases, system, (0.0, span), np.zeros(3), np.zeros(3), reference, total)


def plank_motion(N: np.ndarray, T: np.ndarray, given: dict, push: Signal, span: float) -> tuple[Reference, str]:
    """Rest while forces exist that hold it, then sliding of both feet."""
    mass, weight = given["mass"], given["weight"]
    least, most = holdable(N, T, given)
    loads = [push, constant(-weight), constant(given["moment"])]
    masses = np.array([mass, mass, given["inertia"]])
    drive = [load.integral() for load in loads]
    near = 1e-3 * (most - least)
    pushes = push.at(np.linspace(0.0, span, 2000))
    made = Reference()

    def rest(t):
        zero = np.zeros((len(t), 3))
        return zero, zero, -np.stack([signal.at(t) for signal in drive], axis=-1)

    if pushes[0] < least + near or pushes[0] > most - near:
        raise Unfit("it does not rest at the start")
    if pushes.min() > least + near and pushes.max() < most - near:
        made.add(0.0, span, rest, "stays")
        return made, f"stays at {(pushes.max() - least) / (most - least):.3f}"
    if pushes.min() < least + near or pushes.max() < most + 0.05 * (most - least):
        raise Unfit("it nearly slides, or slides back")
    # both feet slide forth: m x'' = push + T, no other acceleration, T_k = -mu_k N_k
    columns = N - T * np.array(given["mus"])
    solution = np.linalg.inv(np.column_stack([columns, [-mass, 0.0, 0.0]]))
    normals = [combined(-row, loads) for row in solution[:2]]
    along = combined(-solution[2], loads)
    crossed = first_crossing([lambda s: -along.at(s)], 0.0, span, span)
    if crossed is None or abs(float(push.at(crossed[0])) - most) > 1e-6 * (most - least):
        raise Unfit("it does not begin to slide as a whole")
    start = crossed[0]
    path = Path(start, 0.0, 0.0, along)
    t = np.linspace(start, span, 400)[1:]
    if min(float(normal.at(t).min()) for normal in normals) < 0.02 * weight or start > 0.95 * span:
        raise Unfit("a foot lifts, or it slides too late")
    if path.velocity(t[3:]).min() <= 0.0:
        raise Unfit("it stops again")

    def slides(t):
        q, v = np.zeros((2, len(t), 3))
        q[:, 0], v[:, 0] = path.place(t), path.velocity(t)
        return q, v, masses * v - np.stack([signal.at(t) for signal in drive], axis=-1)

    made.add(0.0, start, rest, "stays")
    made.add(start, span, slides, "slides")
    return made, "slides"


# ---- what is reported

TIE, TIE_NEAR = 0.0398, 5e-4  # seconds


def tie(seed: int) -> Case:
    """The slider-crank; the seed changes the end, not the motion."""
    problem = sl.problems.slider_crank(t_end=0.045 + 0.001 * (seed % 3))

    def marked(sol: sl.Solution, tol: float) -> str | None:
        rows = sol.events[sol.events["kind"] == "tie"]
        if not np.any(np.abs(rows["t"] - TIE) < TIE_NEAR):
            return f"no row `tie` near {TIE} s"
        return None if "tie" in sol.message else "the message does not count the tie"

    return Case("tie", "slider-crank", problem.system, problem.t_span, problem.q0, problem.v0, checks=[marked])


def rest_report(seed: int) -> Case:
    """A box in space that rests before the end, wherever that is; the first ones differ in their ends alone."""
    rng = np.random.default_rng([seed, 25])
    settings = {}
    ends = (2.0, 3.0, 5.0, 20.0)
    if seed >= len(ends):
        settings = {
            "half_sizes": tuple(rng.uniform(0.03, 0.12, 3).tolist()),
            "e": uniform(rng, 0.0, 0.4),
            "mu": uniform(rng, 0.2, 0.9),
            "orientation": tuple(rng.normal(size=4).tolist()),
            "velocity": (*rng.uniform(-0.5, 0.5, 2).tolist(), 0.0),
            "spin": tuple(rng.uniform(-5.0, 5.0, 3).tolist()),
        }
    end = ends[seed] if seed < len(ends) else uniform(rng, 2.0, 8.0)
    problem = sl.problems.tumbling_box(t_end=end, **settings)
    case = Case("rest_report", f"box in space to {end:.1f} s", problem.system, problem.t_span, problem.q0, problem.v0)
    case.checks, case.curved = [silent_at_rest], True
    return case


# ---- the figure

CLASSES = {
    "box": box,
    "long_run": long_run,
    "joint": joint,
    "tie": tie,
    "rest_report": rest_report,
    "plank": plank,
    **asleep.CLASSES,
}
FEW = {"long_run": 4, "tie": 1, "rest_report": 10, **asleep.COUNTS}  # most models of these classes


def draw(name: str, seed: int) -> Case:
    """Return the model of a class and a seed."""
    return CLASSES[name](seed)


def described(seed: int, name: str) -> tuple[str, str]:
    case = draw(name, seed)
    return case.name, case.structure


def measured(seed: int, scheme: str, tol: float, name: str) -> Verdict:
    if name == "long_run":
        return long_run_measured(seed, scheme, tol)
    if name == "joint":
        return joint_measured(seed, scheme, tol)
    return judged(draw(name, seed), seed, scheme, tol)


def main() -> None:
    given = options(__doc__, 50, SCHEMES, CLASSES)
    jobs = []
    for name in given.only:
        count = min(given.count, FEW.get(name, given.count))
        chosen = PLANK_SCHEMES if name == "plank" and tuple(given.scheme) == SCHEMES else given.scheme
        for seed in range(given.seed, given.seed + count):
            jobs += [Job("promise", seed, scheme, tol, (("name", name),)) for scheme in chosen for tol in given.tol]
    finish("promise", run_jobs(jobs, LIMIT, workers=given.workers), given)


if __name__ == "__main__":
    main()
