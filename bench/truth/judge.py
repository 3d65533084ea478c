"""What all figures share: a case, its ratios, admissible forces, runs that are stopped when they do not end, the table.

ratio = mean error / (tol (1 + max)) for q, v and the total impulse of the contacts, Euclidean over the columns; the
promise of the default scheme is 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable
from pathlib import Path as FilePath

import numpy as np
from reference import Reference

import saltus as sl

TOLERANCES = (1e-4, 1e-7, 1e-10)
BOUNDS = {"hp-tdg": 1.0, "event-driven": 30.0, "any-order": 30.0}  # largest ratios
ADMISSIBLE = 1e-9  # of the largest force: what a contact may pull, or exceed its cone by
CURVED = 1.0  # tolerances: the same for friction whose direction turns, between the nodes of its polynomial
LEDGER = 1e-8  # of the energy that was moved: largest defect,
ROUGH = 1e-7  # where the tolerance is not above this one; rougher runs may lose as much as their tolerance
# tolerances: the same where a body slides throughout, by the promise of the scheme. The 30 tolerances of EventDriven
# are those of q, v and impulses; about the energy it says a tenth of rtol where something rubs, at every tolerance.
RUBBING_LEDGER = {"event-driven": 0.1}
FORCE_TIMES = 1000  # random times at which forces are looked at
WORKERS = 2
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
PIECES = 400  # least number of pieces of the span for the mean errors
WORST = 40  # rows printed


@dataclasses.dataclass
class Case:
    """A run and what is known about it.

    `total` (k, rows) sums the impulses of the contacts to what is unique and what the third part of the reference
    holds; `checks` are sentences about a solution that holds, or None; `again` is the same model with its contacts in
    another order, whose end must be the same; `ledger`: whether the energy is judged.
    """

    name: str
    structure: str
    system: sl.System
    span: tuple[float, float]
    q0: np.ndarray
    v0: np.ndarray
    reference: Reference | None = None
    total: np.ndarray | None = None
    checks: list[Callable[[sl.Solution, float], str | None]] = dataclasses.field(default_factory=list)
    again: sl.System | None = None
    ledger: bool = False
    samples: int = 0  # mean errors from so many stratified times, for runs of very many steps; 0: by quadrature
    curved: bool = False  # friction turns its direction while it slides
    rubs: bool = False  # it slides throughout, without impacts: the promise of the scheme about the energy holds
    settings: dict = dataclasses.field(default_factory=dict)  # more arguments of solve


@dataclasses.dataclass
class Verdict:
    """What a run showed; `faults` is empty where it kept everything."""

    case: str
    structure: str
    seed: int
    scheme: str
    tol: float
    ratios: dict[str, float] = dataclasses.field(default_factory=dict)
    faults: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    steps: int = 0
    events: int = 0
    found: dict[str, float] = dataclasses.field(default_factory=dict)  # what else was counted, by name

    @property
    def ratio(self) -> float:
        return max(self.ratios.values(), default=0.0)

    @property
    def badness(self) -> float:
        """Order of the table: what gave no result first, then by ratio over its bound."""
        if self.faults and not self.ratios:
            return np.inf
        worst = self.ratio / BOUNDS.get(self.scheme, 1.0)
        return max(worst, 1.0 + 1e-9) if self.faults else worst

    def __str__(self) -> str:
        parts = " ".join(f"{name} {value:.2g}" for name, value in self.ratios.items())
        mark = "MISS " + "; ".join(self.faults) if self.faults else "ok"
        return (
            f"{self.case:26s} {self.structure:34s} seed {self.seed:<6d} {self.scheme:12s} {self.tol:.0e} "
            f"{self.seconds:6.2f} s {self.steps:6d} steps {self.events:5d} events | {parts} | {mark}"
        )


def scheme_of(name: str, tol: float):
    """The scheme of a name, with the tolerance of its steps."""
    made = {
        "hp-tdg": lambda: sl.HpTDG(),
        "event-driven": lambda: sl.EventDriven(),
        "any-order": lambda: sl.AnyOrder(),
        "splitting": lambda: sl.Splitting(),
        "moreau-jean": lambda: sl.MoreauJean(),
        "tdg-": lambda: sl.TDGMinus(2),
    }
    return made[name]()


def arguments(name: str, case: Case, tol: float) -> dict:
    """Settings of a run: the tolerance, or for time steppings tol as the share of the span that a step is."""
    if name in ("moreau-jean", "tdg-"):
        return {"scheme": scheme_of(name, tol), "h": tol * (case.span[1] - case.span[0]), **case.settings}
    return {"scheme": scheme_of(name, tol), "tol": tol, **case.settings}


def _times(sol: sl.Solution, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Times and weights of the mean errors: Gauss points between all nodes and breaks, or stratified samples."""
    assert case.reference is not None
    if case.samples:
        shares = (np.arange(case.samples) + np.random.default_rng(0).uniform(0.0, 1.0, case.samples)) / case.samples
        return sol.t[0] + shares * (sol.t[-1] - sol.t[0]), np.full(case.samples, 1.0 / case.samples)
    marks = np.unique(np.concatenate([sol.t, case.reference.breaks]))
    marks = marks[(marks >= sol.t[0]) & (marks <= sol.t[-1])]
    length = sol.t[-1] - sol.t[0]
    count = np.maximum(1, np.ceil(np.diff(marks) * PIECES / length)).astype(int)
    h = np.repeat(np.diff(marks) / count, count)
    first = np.cumsum(count) - count
    start = np.repeat(marks[:-1], count) + h * (np.arange(len(h)) - np.repeat(first, count))
    t = np.clip((start[:, None] + h[:, None] * (NODES + 1.0) / 2.0).ravel(), sol.t[0], sol.t[-1])
    weights = (h[:, None] * WEIGHTS / 2.0).ravel() / length
    return t, weights


def ratios(sol: sl.Solution, case: Case, tol: float) -> dict[str, float]:
    """Mean errors over tol (1 + max) of q, v and the total impulse."""
    assert case.reference is not None
    t, weights = _times(sol, case)
    state = sol(t)
    found = {"q": state.q.reshape(len(t), -1), "v": state.v.reshape(len(t), -1)}
    if case.total is not None:
        found["i"] = np.asarray(sol.impulse_at(t)).reshape(len(t), -1) @ case.total.T
    wanted = dict(zip("qvi", case.reference(t), strict=True))
    made = {}
    for name, values in found.items():
        error = np.linalg.norm(values - wanted[name], axis=1)
        made[name] = float(weights @ error / (tol * (1.0 + np.linalg.norm(wanted[name], axis=1).max())))
    return made


def worst_force(sol: sl.Solution, seed: int, t: np.ndarray | None = None) -> tuple[float, float]:
    """Return how far forces pull and leave their cones at random times, over the largest force."""
    if t is None:
        t = np.random.default_rng([seed, 29]).uniform(sol.t[0], sol.t[-1], FORCE_TIMES)
    forces = np.asarray(sol.force_at(t)).reshape(len(t), -1)
    scale = float(np.abs(forces).max(initial=0.0))
    if scale == 0.0:
        return 0.0, 0.0
    names = np.array([name for name, _ in sol.rows])
    pulls = leaves = 0.0
    for contact, name in zip(sol.system.contacts, sol.system.contact_names, strict=True):
        mine = forces[:, names == name]
        pulls = max(pulls, float(-mine[:, 0].min()))
        if contact.mu > 0.0:
            excess = np.linalg.norm(mine[:, 1:], axis=1) - contact.mu * mine[:, 0]
            leaves = max(leaves, float(excess.max()))
    return pulls / scale, leaves / scale


ROUNDING = 3e-14  # of 1 m and of the coordinates: contacts close up to 1e-14 m, in a wedge bodies go farther for it


def ledger_defect(sol: sl.Solution) -> float:
    """Largest defect of the energy over the energy that was moved, beside what rounding of coordinates moves.

    What sticks dissipates nothing: of a body that only stands there the ledger shows rounding and nothing else.
    """
    energy = sol.energy
    pushed = float(np.abs(sol.impulse).sum()) / float(sol.t[-1] - sol.t[0])
    rounding = ROUNDING * pushed * (1.0 + float(np.abs(sol.q).max()))
    moved = max(
        float(np.abs(energy.kinetic).max()), float(np.abs(energy.work).max()), float(np.abs(energy.dissipation).max())
    )
    return max(float(np.abs(energy.defect).max()) - rounding, 0.0) / moved if moved > 0.0 else 0.0


def ledger_limit(case: Case, scheme: str, tol: float) -> float:
    """Return the largest defect of the energy that a run may have."""
    if case.rubs and scheme in RUBBING_LEDGER:
        return RUBBING_LEDGER[scheme] * tol
    return LEDGER if tol <= ROUGH else tol


def message_of(error: BaseException) -> str:
    """One line for an error."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:140]}"


def judged(case: Case, seed: int, scheme: str, tol: float) -> Verdict:
    """Run a case and judge it."""
    made = Verdict(case.name, case.structure, seed, scheme, tol)
    begin = time.process_time()  # of this process: other work on the machine must not count
    settings = arguments(scheme, case, tol)
    try:
        sol = sl.solve(case.system, case.span, case.q0, case.v0, progress=False, **settings)
    except Exception as error:  # a study of failures stops at none of them
        made.faults.append(message_of(error))
        return made
    finally:
        made.seconds = time.process_time() - begin
    made.steps, made.events = sol.work["steps"], len(sol.events)
    if case.reference is not None:
        made.ratios = ratios(sol, case, tol)
        if not made.ratio <= BOUNDS.get(scheme, np.inf):
            made.faults.append(f"ratio {made.ratio:.2g}")
    pulls, leaves = worst_force(sol, seed)
    if pulls > ADMISSIBLE:
        made.faults.append(f"a contact pulls by {pulls:.1e} of the largest force")
    if leaves > max(ADMISSIBLE, CURVED * tol if case.curved else 0.0):
        made.faults.append(f"friction exceeds its cone by {leaves:.1e} of the largest force")
    if case.ledger and (defect := ledger_defect(sol)) > ledger_limit(case, scheme, tol):
        made.faults.append(f"energy defect {defect:.1e}")
    made.faults += [said for check in case.checks if (said := check(sol, tol)) is not None]
    if case.again is not None:
        try:
            other = sl.solve(case.again, case.span, case.q0, case.v0, progress=False, **settings)
        except Exception as error:
            made.faults.append(f"other order of contacts: {message_of(error)}")
        else:
            apart = float(np.abs(sol.q[-1] - other.q[-1]).max() / (1.0 + np.abs(sol.q[-1]).max()))
            if apart > max(SAME_END, SAME_END_SHARE * tol):
                made.faults.append(f"other order of contacts ends {apart:.1e} away")
    return made


SAME_END = 1e-9  # of 1 + size: how far apart the ends for two orders of the contacts may be,
SAME_END_SHARE = 30.0  # or so many tolerances


# ---- runs in processes of their own, because a run that never ends is one of the faults looked for


@dataclasses.dataclass(frozen=True)
class Job:
    """One run: module.measured(seed, scheme, tol, **options) -> Verdict."""

    module: str
    seed: int
    scheme: str
    tol: float
    options: tuple = ()

    @property
    def model(self) -> tuple:
        """What jobs that run the same model share."""
        return self.module, self.seed, self.options


ASLEEP = 20.0  # times the limit: time of day after which a job is stopped, whatever it does
AHEAD = 24  # jobs among which one of the same model is looked for


def _chosen(waiting: deque[Job], mine: tuple | None, others: list) -> Job:
    """Take the next job for a worker: one of its last model, else one that no other worker has drawn."""
    ahead = list(itertools.islice(waiting, AHEAD))
    job = next((job for job in ahead if job.model == mine), None)
    job = job or next((job for job in ahead if job.model not in others), ahead[0])
    waiting.remove(job)
    return job


def _work(pipe: multiprocessing.connection.Connection, folder: str) -> None:
    sys.path[:0] = [folder]
    while True:
        job = pipe.recv()
        if job is None:
            return
        try:
            module = importlib.import_module(job.module)
            pipe.send(module.measured(job.seed, job.scheme, job.tol, **dict(job.options)))
        except BaseException as error:
            traceback.print_exc()
            pipe.send(Verdict(job.module, "generator failed", job.seed, job.scheme, job.tol, {}, [message_of(error)]))


class _Worker:
    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, str(FilePath(__file__).parent)), daemon=True)
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self.model: tuple | None = None  # of the last job: what is drawn once is not drawn again
        self.since = self.begun = 0.0

    def start(self, job: Job) -> None:
        self.job, self.model, self.since, self.begun = job, job.model, self.spent(), time.monotonic()
        self.pipe.send(job)

    def spent(self) -> float:
        """Return the processor time of the process so far [s], or the time of day where the system does not say."""
        try:
            fields = FilePath(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_late(self, limit: float) -> bool:
        """Return whether the job has taken more than `limit` seconds of processor time; one that sleeps counts too."""
        return self.spent() - self.since > limit or time.monotonic() - self.begun > ASLEEP * limit

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def run_jobs(jobs: Iterable[Job], limit: float, *, workers: int = WORKERS, say: bool = True) -> list[Verdict]:
    """Run all jobs, stop those that take more than `limit` seconds of processor time, and return their verdicts."""
    waiting = deque(jobs)
    count, made, begin, said = len(waiting), [], time.monotonic(), 0.0
    pool = [_Worker() for _ in range(min(workers, max(count, 1)))]
    try:
        while waiting or any(worker.job for worker in pool):
            for worker in pool:
                if worker.job is None and waiting:
                    others = [w.model for w in pool if w is not worker]
                    worker.start(_chosen(waiting, worker.model, others))
            busy = [worker for worker in pool if worker.job]
            for pipe in multiprocessing.connection.wait([worker.pipe for worker in busy], timeout=0.5):
                worker = next(w for w in busy if w.pipe is pipe)
                job = worker.job
                assert job is not None
                try:
                    made.append(worker.pipe.recv())
                except EOFError:  # the process died
                    made.append(Verdict(job.module, "", job.seed, job.scheme, job.tol, {}, ["the process crashed"]))
                    worker.stop()
                    pool[pool.index(worker)] = _Worker()
                worker.job = None
            for number, worker in enumerate(pool):
                job = worker.job
                if job is not None and worker.is_late(limit):
                    worker.stop()
                    name, structure = described(job)
                    fault = [f"did not end within {limit:g} s"]
                    made.append(Verdict(name, structure, job.seed, job.scheme, job.tol, {}, fault, limit))
                    pool[number] = _Worker()
            if say and time.monotonic() - said > 10.0:
                said = time.monotonic()
                missed = sum(bool(v.faults) for v in made)
                print(
                    f"  {len(made)} of {count} runs, {missed} miss, {said - begin:.0f} s", file=sys.stderr, flush=True
                )
    finally:
        for worker in pool:
            worker.stop()
    return made


def described(job: Job) -> tuple[str, str]:
    """Name and structure of a job that gave no verdict itself."""
    try:
        return importlib.import_module(job.module).described(job.seed, **dict(job.options))
    except Exception:
        return job.module, ""


# ---- tables


def show(title: str, verdicts: list[Verdict], *, rows: int = WORST) -> None:
    """Print the rows, worst first, counts by scheme and tolerance, and the summary line."""
    verdicts = sorted(verdicts, key=lambda v: (-v.badness, v.case, v.seed))
    for verdict in verdicts[:rows]:
        print(verdict)
    if len(verdicts) > rows:
        print(f"... and {len(verdicts) - rows} better ones")
    print()
    for line in table(verdicts):
        print(line)
    print(summary(title, verdicts), flush=True)


def table(verdicts: list[Verdict]) -> list[str]:
    """Counts by case, scheme and tolerance, as a table in Markdown."""
    made = ["| case | scheme | tol | runs | kept | worst ratio | what else |", "|---|---|---|---|---|---|---|"]
    keys = sorted({(v.case, v.scheme, v.tol) for v in verdicts}, key=lambda key: (key[0], key[1], -key[2]))
    for key in keys:
        mine = [v for v in verdicts if (v.case, v.scheme, v.tol) == key]
        kept = sum(not v.faults for v in mine)
        worst = max((v.ratio for v in mine if v.ratios), default=float("nan"))
        what = Counter(_kind(fault) for v in mine for fault in v.faults if not fault.startswith("ratio"))
        said = ", ".join(f"{count} {fault}" for fault, count in what.most_common(3))
        made.append(f"| {key[0]} | {key[1]} | {key[2]:.0e} | {len(mine)} | {kept} | {worst:.2g} | {said} |")
    return made


def _kind(fault: str) -> str:
    """A fault without its numbers, so that equal ones can be counted."""
    return re.sub(r"[-+0-9.]+(e[-+0-9]+)?", "..", fault.split(" by ")[0].split(" at t =")[0])[:60]


def summary(title: str, verdicts: list[Verdict]) -> str:
    missed = [v for v in verdicts if v.faults]
    seeds = len({(v.case, v.seed) for v in verdicts})
    worst = max((v.ratio / BOUNDS.get(v.scheme, 1.0) for v in verdicts if v.ratios), default=float("nan"))
    return (
        f"{title}: {len(verdicts) - len(missed)} of {len(verdicts)} runs of {seeds} models kept everything, "
        f"{len(missed)} missed; worst ratio over its bound {worst:.3g}"
    )


SHORT_NAMES = {"hp": "hp-tdg", "ed": "event-driven"}  # of schemes, on the command line


def options(
    doc: str | None,
    count: int,
    schemes: tuple[str, ...],
    classes: Iterable[str] = (),
    *,
    seed: int = 0,
    rows: int = WORST,
) -> argparse.Namespace:
    """The command line of a figure."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=count, help="models per class")
    parser.add_argument("--seed", type=int, default=seed, help="first seed")
    parser.add_argument("--tol", type=float, nargs="*", default=list(TOLERANCES))
    parser.add_argument("--scheme", nargs="*", default=list(schemes))
    parser.add_argument(
        "--only", "--class", dest="only", nargs="*", default=list(classes), help="classes: " + ", ".join(classes)
    )
    parser.add_argument("--rows", type=int, default=rows, help="rows printed")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--store", help="file to which all verdicts are appended, one JSON object per line")
    given = parser.parse_args()
    given.scheme = [SHORT_NAMES.get(name, name) for name in given.scheme]
    return given


def finish(title: str, verdicts: list[Verdict], given: argparse.Namespace, *, share: float = 1.0) -> None:
    """Print the table, store the verdicts, and end with an exit code that says whether the figure was met.

    share: of the runs of every class that must have kept everything.
    """
    kept: dict[str, list[bool]] = {}
    for verdict in verdicts:
        kept.setdefault(verdict.case, []).append(not verdict.faults)
    low = [name for name, good in kept.items() if sum(good) < share * len(good)]
    if share < 1.0:
        print(f"below {share:.1%}: {', '.join(sorted(low)) or 'no class'}")
    show(title, verdicts, rows=given.rows)
    if given.store:
        with open(given.store, "a", encoding="utf-8") as file:
            for verdict in verdicts:
                file.write(json.dumps({"figure": title, **dataclasses.asdict(verdict)}) + "\n")
    sys.exit(1 if low else 0)
