"""D- of degree 1 on the slider-crank with friction against Moreau-Jean: cost per step, ratios of one run."""

from __future__ import annotations

import time

import saltus as sl
from saltus import problems

STEPS = 40_000


def seconds(problem: sl.Problem, scheme, h: float) -> float:
    """Return the shortest wall time of five runs."""
    span = (0.0, STEPS * h)
    sl.solve(problem, (0.0, 100 * h), scheme=scheme, h=h)
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        sl.solve(problem, span, scheme=scheme, h=h, save="events")
        best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    problem, h = problems.slider_crank(), 1e-6
    base = seconds(problem, sl.MoreauJean(), h)
    print(f"Moreau-Jean     {1e6 * base / STEPS:6.2f} us per step")
    for scheme in (sl.TDGMinus(1), sl.HalfExplicitTDG(), sl.TDGMinus(2), sl.TDGMinus(4), sl.TDGPlus(1), sl.TDGPlus(2)):
        time_ = seconds(problem, scheme, h)
        print(f"{scheme.name:16s}{1e6 * time_ / STEPS:6.2f} us per step, {time_ / base:5.2f} times Moreau-Jean")


if __name__ == "__main__":
    main()
