"""The portfolio on 10 000 random contact problems that all have a solution: failures, false successes, time.

b = W^T v_free, 1 to 50 contacts on 1 to 60 degrees of freedom, most of them with more rows than degrees of freedom,
mu in [0, 2] with both ends, units of mass and velocity between 1e-8 and 1e8, masses of bodies up to 1e6 times others.
A success counts as false where the natural map, written here once more with numpy, lies above the tolerance.

`python contact_random.py --count 10000 [--tol 1e-8] [--jobs 2]`, a single problem again: `--seed 123`
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rows import Row

from saltus.contact import ContactProblem, Portfolio
from saltus.status import Status

MATRICES = ("gaussian", "bodies", "duplicated", "integers", "boxes")
LAWS = ("spatial", "planar", "mixed", "unilateral", "bilateral")
SIZE = (1, 1, 2, 3)  # rows of the laws by kind
CHUNK = 50


@dataclasses.dataclass(frozen=True)
class Case:
    """A random problem before it becomes a ContactProblem."""

    matrix: str
    laws: str
    M: np.ndarray
    W: np.ndarray
    v_free: np.ndarray
    kinds: np.ndarray
    mu: np.ndarray
    reduced: bool  # whether the solver is given D and b instead of M, W and f

    def problem(self) -> ContactProblem:
        if not self.reduced:
            return ContactProblem.from_global(self.M, self.W, self.M @ self.v_free, mu=self.mu, kinds=list(self.kinds))
        D = self.W.T @ np.linalg.solve(self.M, self.W)
        return ContactProblem(0.5 * (D + D.T), self.W.T @ self.v_free, mu=self.mu, kinds=list(self.kinds))


def case(seed: int) -> Case:
    """Return the random problem of one seed."""
    rng = np.random.default_rng(seed)
    return drawn(rng, str(rng.choice(MATRICES)), str(rng.choice(LAWS)), int(rng.integers(1, 51)))


def drawn(rng: np.random.Generator, matrix: str, laws: str, contacts: int) -> Case:
    """Draw a problem with this kind of matrix, these laws and this many contacts."""
    if laws == "mixed":
        kinds = rng.integers(0, 4, contacts)
    elif laws == "bilateral":
        kinds = rng.integers(0, 2, contacts)
    else:
        kinds = np.full(contacts, {"unilateral": 1, "planar": 2, "spatial": 3}[laws])
    n = sum(SIZE[kind] for kind in kinds)
    if matrix in ("bodies", "boxes"):
        count = int(rng.integers(1, 11))
        M, W = bodies(rng, kinds, count) if matrix == "bodies" else boxes(rng, kinds, count)
    else:
        nv = int(rng.integers(1, 61))
        root = rng.standard_normal((nv, nv))
        M = np.eye(nv) if rng.random() < 0.3 else root @ root.T / nv + 0.1 * np.eye(nv)
        if rng.random() < 0.3:
            spread = 10.0 ** rng.uniform(-3.0, 3.0, nv)
            M = M * np.sqrt(spread[:, None] * spread)
        W = rng.integers(-2, 3, (nv, n)).astype(float) if matrix == "integers" else rng.standard_normal((nv, n))
        if matrix == "duplicated":
            W = twins(rng, W, kinds)
    nv = len(W)
    v_free = rng.integers(-2, 3, nv).astype(float) if matrix == "integers" else rng.standard_normal(nv)
    choice = rng.random()
    if choice < 0.5:
        mu = rng.uniform(0.0, 2.0, contacts)
    elif choice < 0.75:
        mu = rng.choice([0.0, 0.5, 1.0, 2.0], contacts)
    else:
        mu = np.full(contacts, rng.choice([0.0, 0.1, 0.3, 1.0, 2.0]))
    mass, speed = 10.0 ** rng.uniform(-8.0, 8.0, 2)
    return Case(matrix, laws, mass * M, W, speed * v_free, kinds, mu, bool(rng.random() < 0.5))


def bodies(rng, kinds, count):
    """Return M and W of contacts between random pairs of bodies, or of a body and the world."""
    spread = 10.0 ** rng.uniform(-3.0, 3.0, count) if rng.random() < 0.5 else np.ones(count)
    M, W = np.zeros((6 * count, 6 * count)), np.zeros((6 * count, sum(SIZE[kind] for kind in kinds)))
    for body in range(count):
        root, rows = rng.standard_normal((6, 6)), slice(6 * body, 6 * body + 6)
        M[rows, rows] = spread[body] * (root @ root.T / 6.0 + 0.2 * np.eye(6))
    first = 0
    for kind in kinds:
        pair = rng.choice(count + 1, 2, replace=False)
        for body in pair[pair < count]:
            W[6 * body : 6 * body + 6, first : first + SIZE[kind]] = rng.standard_normal((6, SIZE[kind]))
        first += SIZE[kind]
    return M, W


def boxes(rng, kinds, count):
    """Return M and W of rigid boxes of height 1 in a stack, which touch at points of horizontal faces."""
    spread = 10.0 ** rng.uniform(-3.0, 3.0, count) if rng.random() < 0.5 else np.ones(count)
    M = np.diag(np.concatenate([m * np.array([1.0, 1.0, 1.0, 0.1, 0.2, 0.15]) for m in spread]))
    W = np.zeros((6 * count, sum(SIZE[kind] for kind in kinds)))
    first = 0
    for kind in kinds:
        above = int(rng.integers(0, count))  # it stands on the body before it, the first one on the ground
        corner = rng.random() < 0.7
        point = rng.choice([-0.5, 0.5], 2) if corner else rng.uniform(-0.5, 0.5, 2)
        for row, direction in enumerate(np.eye(3)[[2, 0, 1]][: SIZE[kind]]):
            for body, sign, height in ((above, 1.0, -0.5), (above - 1, -1.0, 0.5)):
                if body >= 0:
                    arm = np.cross([*point, height], direction)
                    W[6 * body : 6 * body + 6, first + row] += sign * np.concatenate([direction, arm])
        first += SIZE[kind]
    return M, W


def twins(rng, W, kinds):
    """Return W with about half of the contacts replaced by copies of others of the same law."""
    first = np.cumsum([0, *(SIZE[kind] for kind in kinds)])
    W = W.copy()
    for k in range(1, len(kinds)):
        other = int(rng.integers(0, k))
        if kinds[other] == kinds[k] and rng.random() < 0.6:
            W[:, first[k] : first[k + 1]] = W[:, first[other] : first[other + 1]]
    return W


def natural_map(D, b, kinds, mu, P) -> float:
    """Return the scaled residual, written anew: nothing of the package is used."""
    u, rho, total, first = D @ P + b, 1.0 / np.mean(np.diag(D)), 0.0, 0
    for kind, mu_k in zip(kinds, mu, strict=True):
        rows = slice(first, first + SIZE[kind])
        first += SIZE[kind]
        P_k, z = P[rows], u[rows].copy()
        if kind == 0:
            total += np.sum((rho * z) ** 2)
            continue
        slip = np.linalg.norm(z[1:])
        z[0] += mu_k * slip if kind > 1 else 0.0
        x = P_k - rho * z
        x_T = np.linalg.norm(x[1:])
        x_N = (x[0] + mu_k * x_T) / (1.0 + mu_k**2) if kind > 1 else x[0]
        if kind == 1:
            moved = np.minimum(P_k, rho * z)
        elif x[0] >= 0.0 and x_T <= mu_k * x[0]:
            moved = rho * z
        elif x_N <= 0.0:
            moved = P_k
        else:
            moved = P_k - x_N * np.array([1.0, *(mu_k * x[1:] / x_T)])
        total += np.sum(moved**2)
    size = np.linalg.norm(b)
    return float(np.sqrt(total) / (rho * size)) if size > 0.0 else float(np.sqrt(total))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What the portfolio did with one problem."""

    seed: int
    matrix: str
    laws: str
    rows: int
    converged: bool
    honest: bool  # the residual written anew confirms a success; a failure is not called unsolvable
    status: str
    solver: str
    residual: float
    seconds: float


def outcome(seed: int, tol: float) -> Outcome:
    """Solve the problem of one seed."""
    data = case(seed)
    problem = data.problem()
    before = time.perf_counter()
    result = Portfolio(tol=tol).solve(problem)
    seconds = time.perf_counter() - before
    D = data.W.T @ np.linalg.solve(data.M, data.W)
    again = natural_map(D, data.W.T @ data.v_free, data.kinds, data.mu, result.P)
    # huge impulses: what the rounding of D alone makes of u
    noise = 1e-15 * np.max(np.abs(D) @ np.abs(result.P)) / max(np.linalg.norm(problem.b), 1e-300)
    honest = again <= 2.0 * tol + 100.0 * noise if result.converged else result.status == Status.CONTACT_STALLED
    return Outcome(
        seed, data.matrix, data.laws, problem.n, result.converged, honest, result.status.name, result.solver, again,
        seconds,
    )  # fmt: skip


def outcomes(seeds: range, tol: float) -> list[Outcome]:
    return [outcome(seed, tol) for seed in seeds]


def measure(count: int, tol: float, jobs: int = 1, start: int = 0) -> list[Outcome]:
    """Solve the problems of the seeds from start on."""
    chunks = [range(a, min(a + CHUNK, start + count)) for a in range(start, start + count, CHUNK)]
    found: list[Outcome] = []
    if jobs == 1:
        for chunk in track(chunks, description=f"tol = {tol:.0e}", console=Console(stderr=True)):
            found += outcomes(chunk, tol)
        return found
    with ProcessPoolExecutor(jobs) as pool:
        parts = pool.map(outcomes, chunks, [tol] * len(chunks))
        for part in track(parts, total=len(chunks), description=f"tol = {tol:.0e}", console=Console(stderr=True)):
            found += part
    return found


def table(found: list[Outcome], tol: float) -> Table:
    """Return failures, false successes and times by class of problem."""
    made = Table(title=f"{len(found)} random contact problems, tol = {tol:.0e}")
    for head in ("class", "problems", "failed", "false", "median ms", "99 % ms", "worst ms"):
        made.add_column(head, justify="left" if head == "class" else "right")
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for each in found:
        for name in ("all", each.matrix, each.laws):
            groups[name].append(each)
    for name in ("all", *MATRICES, *LAWS):
        group = groups.get(name, [])
        if not group:
            continue
        times = 1e3 * np.array([each.seconds for each in group])
        failed = sum(not each.converged for each in group)
        made.add_row(
            name,
            str(len(group)),
            f"{failed} ({100.0 * failed / len(group):.2f} %)",
            str(sum(not each.honest for each in group)),
            *(f"{value:.2f}" for value in (np.median(times), np.quantile(times, 0.99), times.max())),
        )
    return made


def rows(count: int = 2000, tol: float = 1e-8) -> list[Row]:
    """Return the rows of the common table."""
    found = measure(count, tol)
    failed = 100.0 * sum(not each.converged for each in found) / count
    return [
        Row(f"random contact problems unsolved, {count} problems", failed, "at most", 0.5, "%"),
        Row("false successes among them", float(sum(not each.honest for each in found)), "at most", 0.0, ""),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, help="solve this problem alone")
    options = parser.parse_args()
    console = Console()
    if options.seed is not None:
        console.print(outcome(options.seed, options.tol))
        return
    found = measure(options.count, options.tol, options.jobs, options.start)
    console.print(table(found, options.tol))
    solvers: dict[str, int] = defaultdict(int)
    for each in found:
        solvers[each.solver if each.converged else f"none: {each.status}"] += 1
    console.print(", ".join(f"{name}: {number}" for name, number in sorted(solvers.items())))
    for each in sorted((each for each in found if not (each.converged and each.honest)), key=lambda e: e.seed)[:40]:
        console.print(each)


if __name__ == "__main__":
    main()
