"""Kinks: models that are quiet, jump, kink or peak, drawn class by class, against motions known without saltus.

`python bench/truth/kinks.py --class windows --count 300 --seed 1 --scheme hp` draws 300 models of a class, runs them at
1e-4, 1e-7 and 1e-10 and prints the quantiles of the ratios, the ten worst, the share within the promise, and how many
of the switching surfaces that the motion crossed end a piece of the run. The seed is the commit by default.
"""

from __future__ import annotations

import functools
import subprocess
import time
import warnings
import zlib
from collections import defaultdict
from pathlib import Path

import driven
import numpy as np
import rough
import springs
import walls
from curves import SMOOTH
from judge import TOLERANCES, Case, Job, Verdict, finish, judged, options, run_jobs
from reference import Unfit

from saltus.errors import SlowFunctionWarning

CLASSES = {**driven.CLASSES, **walls.CLASSES, **springs.CLASSES, **rough.CLASSES}
DRAWS = 400  # attempts to draw a fit model
LIMIT = 60.0  # seconds of wall time of a run
SCHEMES = ("hp-tdg", "event-driven")
FULL = 300  # models of a class
QUANTILES = (0.5, 0.9, 0.99, 1.0)
EXACT = 1e-9  # of the span: how near a piece ends to a knot of time
ERRORS = 100.0  # tolerances: how far a state may be off where it crosses a switch
SENSITIVE = 10.0  # a motion that magnifies its data by more says so in its row
DRAWN = 1e-3  # seconds: what took less was drawn before
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


def crossings(sol, case: Case, tol: float) -> dict[str, int]:
    """Count the switching surfaces that were crossed by what jumps there, and those at which a piece ends."""
    made: dict[str, int] = defaultdict(int)
    length = case.span[1] - case.span[0]
    size = 1.0 + float(np.abs(sol.q).max()) + float(np.abs(sol.v).max())
    for kink in case.reference.kinks:
        if kink.order >= SMOOTH:
            continue
        kind = f"{kink.where} {('jump', 'kink', 'bend')[kink.order]}"
        near = max(EXACT * length, ERRORS * tol * size / kink.rate if kink.rate != 1.0 else 0.0)
        made[kind] += 1
        made[kind + " seen"] += int(np.abs(sol.t - kink.t).min() <= near)
    return dict(made)


def measured(seed: int, scheme: str, tol: float, name: str) -> Verdict:
    begin = time.process_time()
    case, rejected = draw(name, seed)
    drawn = time.process_time() - begin
    found = {}
    case.checks = [lambda sol, tol: found.update(crossings(sol, case, tol))]
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
    made = ["| class | scheme | what jumps | crossed | a piece ends there |", "|---|---|---|---|---|"]
    counts: dict = defaultdict(int)
    for v in verdicts:
        for kind, count in v.found.items():
            counts[v.case, v.scheme, kind] += count
    for (name, scheme, kind), count in sorted(counts.items()):
        if kind in ("rejected", "drawing") or kind.endswith("seen"):
            continue
        seen = counts[name, scheme, kind + " seen"]
        made.append(f"| {name} | {scheme} | {kind} | {count} | {seen / count:.1%} |")
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
