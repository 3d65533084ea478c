"""D- of degree 1 on the slider-crank with friction against Moreau-Jean: cost per step, ratios of one run."""

from __future__ import annotations

import time

from rows import Row

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


def measure() -> list[Row]:
    """Return the cost of one step over that of Moreau-Jean, all of this run."""
    problem, h = problems.slider_crank(), 1e-6
    base = seconds(problem, sl.MoreauJean(), h)
    rows = []
    for scheme in (sl.TDGMinus(1), sl.TDGMinus(2), sl.TDGMinus(4), sl.TDGPlus(1), sl.TDGPlus(2), sl.HalfExplicitTDG()):
        own = seconds(problem, scheme, h)
        what, note = f"slider-crank, {scheme.name} over Moreau-Jean per step", f"{1e6 * own / STEPS:.2f} us per step"
        rows.append(Row(what, own / base, "at most", 3.0 if scheme == sl.TDGMinus(1) else 6.0, note=note))
    return rows
