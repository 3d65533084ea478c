"""Kinks: models that are quiet, jump, kink or peak, drawn class by class, against motions known without saltus.

`python bench/truth/kinks.py --class windows --count 300 --seed 1 --scheme hp` draws 300 models of a class, runs them at
1e-4, 1e-7 and 1e-10 and prints the quantiles of the ratios, the ten worst, the share within the promise, and how many
of the switching surfaces that the motion crossed end a piece of the run. The seed is the commit by default.
"""

from __future__ import annotations

import functools
import itertools
import subprocess
import time
import warnings
import zlib
from collections import defaultdict
from pathlib import Path

import driven
import numpy as np
import repeating
import rough
import springs
import walls
from curves import SMOOTH
from hybrid import Kink
from judge import BOUNDS, TOLERANCES, Case, Job, Verdict, finish, judged, options, run_jobs
from reference import Unfit

from saltus.errors import SlowFunctionWarning

CLASSES = {**driven.CLASSES, **walls.CLASSES, **springs.CLASSES, **rough.CLASSES, **repeating.CLASSES}
DRAWS = 400  # attempts to draw a fit model
LIMIT = 60.0  # seconds of wall time of a run
SCHEMES = ("hp-tdg", "event-driven")
FULL = 300  # models of a class
QUANTILES = (0.5, 0.9, 0.99, 1.0)
EXACT = 1e-9  # of the span: how near a piece ends to a surface
ERRORS = 100.0  # promises: how far a state may be off where it crosses a switch
REST = 0.1  # promises: what counts as rest, and as being on a surface
DIFFERENCE = 1e-6  # of a coordinate or velocity, for the gradient of a surface
SENSITIVE = 10.0  # a motion that magnifies its data by more says so in its row
DRAWN = 1e-3  # seconds: what took less was drawn before
INSIDE = np.linspace(0.003, 0.997, 65)  # places of a piece at which it is looked for a surface that was crossed
FOUND_AS = ("seen", "accumulated", "unreached", "missed")  # what became of a surface
PROMISED = 0.995  # share of the runs that keep the promise


def commit_seed() -> int:
    """The first eight hexadecimal digits of the commit."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    said = subprocess.run(command, capture_output=True, encoding="utf-8").stdout.strip()  # noqa: S603
    return int(said[:8], 16) if said else 0


@functools.lru_cache(maxsize=4)
def draw(name: str, seed: int) -> tuple[Case, int]:
    """Return the model of a class and a seed, and how many unfit ones were drawn before it."""
    for attempt in range(DRAWS):
        rng = np.random.default_rng([zlib.crc32(name.encode()), seed, attempt])
        try:
            return CLASSES[name](rng, seed), attempt
        except Unfit:
            continue
    raise Unfit(f"no fit model of class {name} for seed {seed}")


def described(seed: int, name: str) -> tuple[str, str]:
    return name, draw(name, seed)[0].structure


def shift(kink: Kink, case: Case) -> float:
    """How much later a surface is crossed [s] per unit of the promise of q and v: what a run may not know better."""
    if kink.surface is None:
        return 0.0
    t = case.reference.breaks
    sizes = [1.0 + float(np.abs(part).max(initial=0.0)) for part in case.reference(t)[:2]]
    at = np.array([kink.t])
    q, v = (part[0] for part in case.reference(at)[:2])
    moved = 0.0
    for part, size in zip((q, v), sizes, strict=True):
        for i in range(len(part)):
            kept, little = part[i], DIFFERENCE * (abs(part[i]) + float(np.abs(part).max()) + 1e-12)
            part[i] = kept + little
            above = float(kink.surface(kink.t, q, v))
            part[i] = kept - little
            moved += abs(above - float(kink.surface(kink.t, q, v))) / (2.0 * little) * size
            part[i] = kept
    return moved / kink.rate


def ends_there(sol, kink: Kink, case: Case, promise: float, near: float) -> bool:
    """Whether a piece of the run ends where the run itself, not the reference, is on the surface.

    The run crosses the surface at another time than the reference, because its state errs: by no more than ERRORS
    promises of the state are worth in time (`near` for one unit). Where it does cross, it must end a piece: to the
    digits of time, or where it has passed the surface by what counts as rest, a tenth of the promise.
    """
    length = case.span[1] - case.span[0]
    if kink.surface is None:
        return bool(np.abs(sol.t - kink.t).min() <= EXACT * length)
    candidates = sol.t[np.abs(sol.t - kink.t) <= EXACT * length + ERRORS * promise * near]
    for t in candidates:
        state = sol(np.array([t]))
        off = abs(float(kink.surface(t, state.q.reshape(-1), state.v.reshape(-1))))
        if off <= (EXACT * length + REST * promise * near) * kink.rate:
            return True
    return False


def crossings(sol, case: Case, promise: float) -> dict[str, int]:
    """Count the switching surfaces that were crossed by what jumps there, and those at which a piece ends.

    promise: what the scheme promises, its factor times the tolerance.
    """
    made: dict[str, int] = defaultdict(int)
    replaced = [(t - duration, t) for t, duration in accumulations(sol)]
    for kink in case.reference.kinks:
        if kink.order >= SMOOTH:
            continue
        kind = f"{kink.where} {('jump', 'kink', 'bend')[kink.order]}"
        made[kind] += 1
        seen = ends_there(sol, kink, case, promise, shift(kink, case))
        made[kind + " seen"] += int(seen)
        if not seen:
            # a cause that is checked: bounces below the promise were replaced by their accumulation over this time
            inside = any(begin <= kink.t <= end for begin, end in replaced)
            crossed = kink.surface is None or crosses_inside(sol, kink, case)
            made[kind + (" accumulated" if inside else " missed" if crossed else " unreached")] += 1
    return dict(made)


def crosses_inside(sol, kink: Kink, case: Case) -> bool:
    """Tell whether the run itself changes the sign of a surface within a piece, between the neighbours of a kink.

    Where the motion passes a surface by less than the promise, the run may stay on one side of it.
    """
    others = np.array([case.span[0], *(k.t for k in case.reference.kinks), case.span[1]])
    begin, end = others[others < kink.t].max(initial=case.span[0]), others[others > kink.t].min(initial=case.span[1])
    for a, b in itertools.pairwise(sol.t):
        if b <= begin or a >= end or b <= a:
            continue
        t = a + (b - a) * INSIDE
        state = sol(t)
        values = [float(kink.surface(*one)) for one in zip(t, state.q, state.v, strict=True)]
        if min(values) < 0.0 < max(values):
            return True
    return False


def accumulations(sol) -> list[tuple[float, float]]:
    """End and duration of the accumulations of a run; the step that follows one begins at the last impact before it."""
    made = []
    for event in sol.events:
        if event["kind"] == "zeno":
            before = [float(other["t"]) for other in sol.events if other["t"] < event["t"]]
            made.append((float(event["t"]), float(event["t"]) - max(before, default=float(sol.t[0]))))
    return made


def measured(seed: int, scheme: str, tol: float, name: str) -> Verdict:
    begin = time.process_time()
    case, rejected = draw(name, seed)
    drawn = time.process_time() - begin
    found = {}
    case.checks = [lambda sol, tol: found.update(crossings(sol, case, BOUNDS.get(scheme, 1.0) * tol))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowFunctionWarning)  # a plain `if` that is called as Python is slow, not wrong
        made = judged(case, seed, scheme, tol)
    if case.reference.magnified > SENSITIVE:
        made.structure += f", data magnified {case.reference.magnified:.0f} times"
    made.found = {**found, "rejected": rejected, "drawing": drawn}
    return made


# ---- tables


def distribution(verdicts: list[Verdict]) -> list[str]:
    """Quantiles of the ratios by class, scheme and tolerance; a run without a result counts as infinite."""
    heads = " | ".join(f"{100 * q:g} %" for q in QUANTILES)
    made = [f"| class | scheme | tol | models | within | {heads} | s per run |", "|---" * (6 + len(QUANTILES)) + "|"]
    for key in sorted({(v.case, v.scheme, v.tol) for v in verdicts}, key=lambda key: (key[0], key[1], -key[2])):
        mine = [v for v in verdicts if (v.case, v.scheme, v.tol) == key]
        ratios = np.array([v.ratio if v.ratios else np.inf for v in mine])
        values = " | ".join(f"{x:.2g}" for x in np.quantile(ratios, QUANTILES, method="higher"))
        kept = np.mean([not v.faults for v in mine])
        seconds = np.median([v.seconds for v in mine])
        made.append(f"| {key[0]} | {key[1]} | {key[2]:.0e} | {len(mine)} | {kept:.1%} | {values} | {seconds:.3f} |")
    return made


def ends(verdicts: list[Verdict]) -> list[str]:
    """Switching surfaces crossed, and the share of them at which a piece ends, by class and scheme."""
    made = [
        "| class | scheme | what jumps | crossed | a piece ends there | inside of a replaced accumulation | "
        "not reached within the promise | missed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    counts: dict = defaultdict(int)
    for v in verdicts:
        for kind, count in v.found.items():
            counts[v.case, v.scheme, kind] += count
    for (name, scheme, kind), count in sorted(dict(counts).items()):
        if kind in ("rejected", "drawing") or kind.split()[-1] in FOUND_AS:
            continue
        seen, *others = (counts[name, scheme, f"{kind} {what}"] for what in FOUND_AS)
        words = [name, scheme, kind, str(count), f"{seen / count:.2%}", *map(str, others)]
        made.append(f"| {' | '.join(words)} |")
    return made


def costs(verdicts: list[Verdict]) -> list[str]:
    """Models rejected, and what a class costs at its full count, without compiling."""
    made = []
    for name in sorted({v.case for v in verdicts}):
        mine = [v for v in verdicts if v.case == name]
        seeds = {v.seed: v.found.get("rejected", 0) for v in mine}
        drawing = np.median([v.found["drawing"] for v in mine if v.found.get("drawing", 0.0) > DRAWN] or [0.0])
        each = sum(
            np.median([v.seconds for v in mine if (v.scheme, v.tol) == key])
            for key in {(v.scheme, v.tol) for v in mine}
        )
        made.append(
            f"* {name}: {sum(seeds.values())} unfit models rejected for {len(seeds)} kept; "
            f"{FULL} models cost about {FULL * (drawing + each) / 60.0:.1f} min "
            f"({drawing:.2f} s for a reference, {each:.2f} s for its runs)"
        )
    return made


def more(verdicts: list[Verdict]) -> list[str]:
    """The tables of this figure."""
    return [*distribution(verdicts), "", *ends(verdicts), "", *costs(verdicts), ""]


def main() -> None:
    given = options(__doc__, FULL, SCHEMES, CLASSES, seed=commit_seed(), rows=10)
    jobs = [
        Job("kinks", seed, scheme, tol, (("name", name),))
        for name in given.only for seed in range(given.seed, given.seed + given.count)
        for scheme in given.scheme for tol in given.tol
    ]  # fmt: skip
    print(f"seed {given.seed} ({given.seed:08x}), {given.count} models of each class, tolerances {TOLERANCES}")
    verdicts = run_jobs(jobs, LIMIT, workers=given.workers)
    print("\n".join(more(verdicts)))
    finish("kinks", verdicts, given, share=PROMISED)


if __name__ == "__main__":
    main()
