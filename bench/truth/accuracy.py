"""How accurate the references of kinks.py are: made again with other steps, and against saltus told where kinks are.

`python bench/truth/accuracy.py --count 5` prints per class the largest mean difference over 1 + max between a reference
and itself with tolerances ten times as large and other steps, and for models whose kinks are known times the largest
ratio of EventDriven at 1e-10 with `breaks` there: no part of it makes either reference or generator.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from judge import options, ratios
from kinks import CLASSES, draw
from reference import Reference

import saltus as sl

TIMES = 400  # at which two references are compared
ENOUGH = 3e-12  # a hundredth of the finest promise would be 1e-12; mean difference over 1 + max
TOL, BOUND = 1e-10, 30.0  # of EventDriven


def apart(one: Reference, two: Reference) -> float:
    """Mean difference of two motions over 1 + max."""
    t = np.random.default_rng(0).uniform(0.0, one.breaks[-1], TIMES)
    made = 0.0
    for a, b in zip(one(t), two(t), strict=True):
        made = max(made, float(np.abs(a - b).mean(axis=0).max(initial=0.0)) / (1.0 + np.abs(a).max(initial=0.0)))
    return made


def told(case) -> float | None:
    """The ratio of EventDriven with breaks at the kinks, where all of them are known times."""
    kinks = case.reference.kinks
    if not kinks or any(kink.rate != 1.0 for kink in kinks):
        return None
    breaks = sorted({kink.t for kink in kinks if 0.0 < kink.t < case.span[1]})
    sol = sl.solve(
        case.system, case.span, case.q0, case.v0, tol=TOL, scheme=sl.EventDriven(), breaks=breaks, progress=False
    )
    return max(ratios(sol, case, TOL).values())


def main() -> None:
    given = options(__doc__, 5, (), CLASSES)
    warnings.simplefilter("ignore", sl.SlowFunctionWarning)
    good = True
    for name in given.only:
        differences, found, said = [0.0], [], ""
        for seed in range(given.seed, given.seed + given.count):
            case = draw(name, seed)[0]
            if case.reference.again is not None:
                differences.append(apart(case.reference, case.reference.again()))
            try:
                ratio = told(case)
            except Exception as error:  # told of its kinks it may still fail: that is no fault of the reference
                said = f", {type(error).__name__} in {case.structure} seed {seed}"
                continue
            if ratio is not None:
                found.append((ratio, seed, case.structure))
        worst = max(found, default=None)
        text = f"{worst[0]:.2g} (seed {worst[1]}, {worst[2]})" if worst else "-"
        print(f"{name:12s} again {max(differences):.1e}, {len(found)} told of their kinks: {text}{said}", flush=True)
        good = good and max(differences) <= ENOUGH
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
