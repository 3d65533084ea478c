"""Verified errors against true ones, on the problems of the contract: is a second run as good as the truth?

For q, v and i of every problem and tolerance: ratio = mean error / (tol (1 + max)), true (against the exact solution,
or the reference of the contract) and verified (`sol.verify()`). They fit where the true one lies between a tenth and
ten times the verified one, or where both are below a hundredth.

`PYTHONPATH=bench python bench/truth/verified.py --tol 1e-4,1e-8 --problem bowl,zeno_ball`
"""

from __future__ import annotations

import argparse
import dataclasses

from contract import CASES, QUANTITIES, TOLERANCES, chosen_scheme, factory_of, l1, reference_of, scheme_named

import saltus as sl
from saltus.study.curve import curve

FACTOR = 10.0  # by which true and verified error may differ,
SMALL = 0.01  # unless both are below this share of the promise


@dataclasses.dataclass(frozen=True)
class Case:
    """True and verified ratios of q, v, i; how far two references differ, in the same unit; where the runs part."""

    problem: str
    tol: float
    true: tuple[float, ...]
    verified: tuple[float, ...]
    doubts: tuple[float, ...]
    kept: bool
    parting: str

    @property
    def fits(self) -> tuple[bool, ...]:
        """Whether the verified error says the truth, for q, v, i."""
        return tuple(
            max(a, b) < SMALL or b / FACTOR <= a <= b * FACTOR for a, b in zip(self.true, self.verified, strict=True)
        )

    @property
    def largest_fits(self) -> bool:
        """The same for the largest of the three, by which a run is judged."""
        a, b = max(self.true), max(self.verified)
        return max(a, b) < SMALL or b / FACTOR <= a <= b * FACTOR

    def __str__(self) -> str:
        parts = "  ".join(
            f"{name} {a:8.2g} {b:8.2g}" for name, a, b in zip("qvi", self.true, self.verified, strict=True)
        )
        missed = ", ".join(name for name, fit in zip("qvi", self.fits, strict=True) if not fit)
        mark = f"MISS in {missed}" if missed else "ok"
        return f"{self.problem:22s}{self.tol:.0e}  {parts}  doubt {max(self.doubts):7.1g}  {mark} {self.parting}"


def judged(name: str, tols, scheme) -> list[Case]:
    """Run a problem of the contract with every tolerance, verify, and compare with the truth."""
    case, made = CASES[name], []
    problem = case.make()
    reference = reference_of(problem, case.zeno_speed)
    span = problem.t_span[1] - problem.t_span[0]
    for tol in tols:
        if tol < 0.99 * case.least:
            continue
        sol = sl.solve(problem, scheme=factory_of(scheme)(tol), progress=False)
        verification = sol.verify(progress=False)
        true, doubts = [], []
        for quantity in QUANTITIES:
            error, largest = l1(sol.t, curve(sol, quantity), curve(reference.source, quantity))
            unit = tol * span * (1.0 + largest)
            true.append(error / unit)
            doubts.append(reference.doubts[quantity] / unit)
        parting = "" if verification.parting is None else verification.parting.sentence
        made.append(
            Case(name, tol, tuple(true), tuple(verification.ratios.values()), tuple(doubts), verification.kept, parting)
        )
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen_scheme(parser)
    parser.add_argument("--tol", default=None, help="tolerances with commas; 1e-3 to 1e-11 by default")
    parser.add_argument("--problem", default=None, help=f"names with commas, of {', '.join(CASES)}")
    given = parser.parse_args()
    tols = TOLERANCES if given.tol is None else [float(tol) for tol in given.tol.split(",")]
    names = CASES if given.problem is None else given.problem.replace("-", "_").split(",")
    print("mean error / (tol (1 + max)), for each of q, v, i: true, verified")
    cases = []
    for name in names:
        for case in judged(name, tols, scheme_named(given.scheme)):
            cases.append(case)
            print(case, flush=True)
    fits = [fit for case in cases for fit in case.fits]
    print(
        f"fit: {sum(fits)} of {len(fits)} errors, {sum(all(case.fits) for case in cases)} of {len(cases)} cases in all"
    )
    print(f"fit in the largest of q, v, i: {sum(case.largest_fits for case in cases)} of {len(cases)} cases")
    same = sum(case.kept == (max(case.true) <= 1.0) for case in cases)
    print(f"the same verdict about the promise: {same} of {len(cases)} cases")
