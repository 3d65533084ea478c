"""Stability: what was asked of Lyapunov exponents, multipliers, sensitivities, and what is measured.

python bench/stability.py            prints the table and writes bench/stability.md; about two minutes
python bench/stability.py --short    without the run of 1e5 impacts
"""

from __future__ import annotations

import math
import pathlib
import resource
import sys
import time

import numpy as np

import saltus as sl
from saltus import sweep
from saltus.ensemble.tangent import along
from saltus.problems.simplest_walker import heelstrike

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))
from stability_models import by_differences, end_of, oscillator
from test_sensitivity import belt, rod, sticking_rod
from test_sensitivity import oscillator as nonlinear
from test_tangent import CASES, random_model
from test_tangent import rod as tumbling

ROWS: list[tuple[str, str, str, str]] = []


def row(what: str, asked: str, measured: float, limit: float | None = None, note: str = "", digits: int = 2) -> None:
    kept = "" if limit is None else ("yes" if abs(measured) <= limit else "NO")
    ROWS.append((what, asked, f"{measured:.{digits}g}{note}", kept))
    print(f"{what:75s} asked {asked:10s} measured {measured:.3g}{note} {kept}", flush=True)


def taken(what: str, asked: int, found: sweep.Lyapunov) -> None:
    """A row for the directions that events took: as many as asked, neither more nor fewer."""
    count = sum(one.directions for one in found.lost)
    row(what, str(asked), float(count), asked if count == asked else -1.0)


def doublings() -> None:
    p, system = oscillator()
    near = sl.solve(system, (0.0, 60.0 * 2.0 * math.pi / 2.6), -0.5, 0.0, tol=1e-9)
    orbit = sweep.periodic_orbit(system, period=lambda: 2.0 * np.pi / p.w, start=near)
    found = orbit.find("period doubling", w=(2.6, 2.7)).parameters["w"]
    row("period doubling of the oscillator, e = 0.8: w - 2.65334772786", "1e-9", found - 2.65334772786, 1e-9)
    p = sl.Parameters(intensity=1.4)
    omega, gravity, e = 20.0, 9.81, 0.5
    table = sl.Contact(lambda t, q: q[0] - p.intensity * gravity / omega**2 * np.sin(omega * t), e=e, name="table")
    period, phase = 2.0 * math.pi / omega, math.acos(math.pi * (1.0 - e) / ((1.0 + e) * 1.4))
    height = 1.4 * gravity / omega**2 * math.sin(phase) + gravity * period**2 / 8.0
    start = sweep.periodic_orbit(
        sl.System(M=1.0, f=-gravity, contacts=[table]), period=period, q0=height, v0=0.0, t0=phase / omega + period / 2
    )
    found = start.find("period doubling", intensity=(1.4, 1.6)).parameters["intensity"]
    row("period doubling of the ball on a table, e = 0.5: Gamma - 1.52682370052", "1e-9", found - 1.52682370052, 1e-9)


def exponents(short: bool) -> None:
    system = oscillator()[1]
    for w, kind in ((2.6, "periodic"), (2.8, "chaotic")):
        found = sweep.lyapunov(system, -0.5, 0.0, impacts=1000, transient=200.0, parameters={"w": w})
        off = found.sum_per_impact - 2.0 * math.log(0.8)
        row(f"sum of exponents per impact - 2 ln e, {kind} (w = {w}, 1000 impacts)", "1e-10", off, 1e-10)
        row(f"sum rule of the library [1/s], {kind}", "1e-8", found.sum_error, 1e-8)
    found = sweep.lyapunov(CASES["full M(q), curved gap"][0], [-0.2, 0.1], [0.3, 0.0], span=100.0)
    row("sum rule [1/s], two degrees of freedom, full M(q), damped", "1e-8", found.sum_error, 1e-8)
    found = sweep.lyapunov(CASES["full M(q), curved gap"][0], [-0.2, 0.1], [0.3, 0.0], span=100.0, exponents=2)
    row("sum rule [1/s], of them two exponents", "1e-8", found.sum_error, 1e-8)
    found = sweep.lyapunov(CASES["stick and slip"][0], [2.0, 0.0], [0.0, 0.0], span=100.0)
    row("sum rule [1/s], stick and slip, one direction lost", "1e-8", found.sum_error, 1e-8)
    taken("directions that stick and slip loses", 1, found)
    found = sweep.lyapunov(sl.problems.vibrating_table(intensity=1.3), span=2.0)
    taken("directions that an accumulation takes of a ball", 2, found)
    if short:
        return
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = sweep.lyapunov(system, -0.5, 0.0, impacts=100_000, transient=200.0, parameters={"w": 2.8}, tol=1e-7)
    spent, grown = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    row("100 000 impacts, chaotic: sum per impact - 2 ln e", "1e-10", found.sum_per_impact - 2.0 * math.log(0.8), 1e-10)
    row("the same: largest exponent", "", float(found.exponents[0]), note=" 1/s", digits=5)
    row("the same: CPU time per impact, the run itself included", "", 1e6 * spent / 1e5, note=" us")
    row("the same: growth of the memory", "flat", grown / 1024.0, note=" MB")


def monodromies() -> None:
    cases = {**CASES, **{f"random {k}": (random_model(k)[0], 3.0, random_model(k)[1]) for k in range(1, 11)}}
    for name, (system, t_end, start) in cases.items():
        start = np.array(start, dtype=float)
        nq = len(start) // 2
        run = sl.solve(system, (0.0, t_end), start[:nq], start[nq:], tol=1e-12)
        tangent = along(run)
        E = tangent.basis
        differences = by_differences(lambda x: end_of(system, t_end, start + E @ x), E.shape[1], 5e-5)  # noqa: B023
        off = float(np.max(np.abs(tangent.matrix() @ E - differences)))
        row(f"monodromy - differences: {name} ({len(run.events)} events)", "1e-7", off, 1e-7)
    sticking = along(sl.solve(CASES["stick and slip"][0], (0.0, 7.0), [2.0, 0.0], [0.0, 0.0], tol=1e-12))
    singular = np.linalg.svd(sticking.matrix() @ sticking.basis, compute_uv=False)
    row("rank of stick and slip: second singular value", "0", float(singular[1]), 1e-12)
    system, start = tumbling(0.2, 0.3), np.array([0, 0.1, 0.3, 1.5, 0, 0.4])
    run = sl.solve(system, (0.0, 0.6), start[:3], start[3:], tol=1e-12)
    E = along(run).basis
    differences = by_differences(lambda x: end_of(system, 0.6, start + E @ x), E.shape[1])
    off = float(np.max(np.abs(along(run).matrix() @ E - differences)))
    row("monodromy - differences: accumulation with friction", "1e-7", off, 1e-7)


def walker() -> None:
    problem = sl.problems.simplest_walker()
    found, strike = sweep.periodic_orbit(problem, section=heelstrike()), heelstrike(terminal=True)

    def strides(x):
        theta, rate = found.q[0] + x[0], found.v[0] + x[1]
        start = [theta, 2.0 * theta], [rate, (1.0 - math.cos(2.0 * theta)) * rate]
        run = sl.solve(problem.system, (0.0, 6.0), *start, tol=1e-13, events=[strike])
        return np.array([run.q[-1, 0], run.v[-1, 0]])

    expected = np.sort_complex(np.linalg.eigvals(by_differences(strides, 2, 5e-5)))
    got = np.sort_complex(found.multipliers[:2])
    row("simplest walker, slope 0.009: multipliers - differences", "1e-7", float(np.max(np.abs(got - expected))), 1e-7)
    row("the same: real part", "", float(got[0].real), digits=12)
    row("the same: imaginary part", "", float(abs(got[0].imag)), digits=12)


def sensitivities() -> None:
    for case in (nonlinear, rod, sticking_rod, belt):
        system, span, q0, v0, wanted, values = case()
        names = list(values)
        found = sweep.sensitivity(system, span, q0, v0, of=wanted, by=names, parameters=values, tol=1e-12)

        def measured(x):
            moved = {name: value + dx for (name, value), dx in zip(values.items(), x, strict=True)}  # noqa: B023
            made = sweep.sensitivity(system, span, q0, v0, of=wanted, parameters=moved, tol=1e-13)  # noqa: B023
            return np.array([one.value for one in made.quantities])

        differences = by_differences(measured, len(names), 2e-5)
        slopes = np.array([[one.by[name] for name in names] for one in found.quantities])
        off = float(np.max(np.abs(slopes - differences) / (1.0 + np.abs(differences))))
        said = f"{len(found.quantities)} quantities by {len(names)} parameters"
        row(f"sensitivities - differences: {case.__name__}, {said}", "1e-7", off, 1e-7)


def main() -> None:
    doublings()
    exponents("--short" in sys.argv)
    monodromies()
    walker()
    sensitivities()
    lines = [
        "# Stability, measured by bench/stability.py",
        "",
        "| what | asked | measured | kept |",
        "|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(one)} |" for one in ROWS]
    if "--short" not in sys.argv:
        (pathlib.Path(__file__).parent / "stability.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
