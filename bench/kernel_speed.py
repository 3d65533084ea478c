"""Speed of compiled kernels: microseconds per step, sweep or solve of a small problem, the least of many repeats.

`python bench/kernel_speed.py` measures this installation; `python bench/kernel_speed.py OTHER/src` runs a second
checkout in turns with it, and prints the ratios. Lines go to bench/HISTORY.md by hand, with the commit.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time

ROUNDS, SECONDS = 3, 2.0  # processes of each kind; time that one run is repeated for


def measured() -> dict[str, float]:
    """Return microseconds per step."""
    import numpy as np

    import saltus as sl

    p = sl.problems
    runs = {
        "ball HpTDG": (p.zeno_ball(), {"tol": 1e-8}),
        "ball MoreauJean": (p.zeno_ball(), {"scheme": sl.MoreauJean(), "h": 1e-4}),
        "slider crank HpTDG": (p.slider_crank(), {"scheme": sl.HpTDG(tol=1e-6), "t_span": (0.0, 0.02)}),
        "slider crank MoreauJean": (p.slider_crank(), {"scheme": sl.MoreauJean(), "h": 1e-5, "t_span": (0.0, 0.05)}),
        "tumbling box MoreauJean": (p.tumbling_box(), {"scheme": sl.MoreauJean(), "h": 1e-4}),
        "slider crank EventDriven": (p.slider_crank(), {"scheme": sl.EventDriven(), "t_span": (0.0, 0.02)}),
    }
    found = {}
    for name, (problem, options) in runs.items():
        best, until = np.inf, time.process_time() + SECONDS
        steps = sl.solve(problem, progress=False, **options).work["steps"]
        while time.process_time() < until:
            began = time.process_time()
            sl.solve(problem, progress=False, **options)
            best = min(best, time.process_time() - began)
        found[name] = 1e6 * best / steps
    rng = np.random.default_rng(3)
    bodies, contacts = 300, 700
    W = np.zeros((6 * bodies, 3 * contacts))
    for k in range(contacts):
        for body in rng.permutation(bodies)[:2]:
            W[6 * body : 6 * body + 6, 3 * k : 3 * k + 3] = rng.standard_normal((6, 3))
    M = np.diag(rng.uniform(0.5, 2.0, 6 * bodies))
    problem = sl.ContactProblem.from_global(M, W, rng.standard_normal(6 * bodies), mu=0.3, dim=3)
    for solver in (sl.contact.ColouredNSGS(tol=1e-8, threads=1), sl.NSGS(tol=1e-8)):
        best, until = np.inf, time.process_time() + SECONDS
        while time.process_time() < until:
            began = time.process_time()
            result = solver.solve(problem)
            best = min(best, time.process_time() - began)
        found[f"{type(solver).__name__}, per sweep"] = 1e6 * best / max(1, result.iterations)
    return found | small_solves()


def small_solves() -> dict[str, float]:
    """Return microseconds of one solve of one and of four contacts: what Python spends around the kernel."""
    import numpy as np

    import saltus as sl

    rng = np.random.default_rng(3)
    found = {}
    for blocks, dim in ((1, 1), (1, 3), (4, 3)):
        W = rng.standard_normal((6, blocks * dim))
        D, b = W.T @ W + 0.1 * np.eye(blocks * dim), rng.standard_normal(blocks * dim)
        problem = sl.ContactProblem(D, b, mu=None if dim == 1 else 0.3, dim=dim)
        for solver in (sl.NSGS(), sl.contact.Portfolio(), sl.contact.ADMM()):
            assert solver.solve(problem).converged
            best, until = np.inf, time.process_time() + SECONDS / 10
            while time.process_time() < until:
                began = time.process_time()
                for _ in range(20):
                    solver.solve(problem)
                best = min(best, time.process_time() - began)
            found[f"{type(solver).__name__}, {blocks} x {dim} rows"] = 1e6 * best / 20
    return found


def in_process(source: pathlib.Path) -> dict[str, float]:
    """Return what one checkout measures in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "measure"]
    made = subprocess.run(command, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True)  # noqa: S603
    return json.loads(made.stdout)


def main(others: list[str]) -> None:
    """Measure this checkout, and another one in turns."""
    own = pathlib.Path(__file__).resolve().parents[1] / "src"
    sources = [own, *map(pathlib.Path, others)]
    best: dict[pathlib.Path, dict[str, float]] = {}
    for _ in range(ROUNDS):
        for source in sources:
            found = in_process(source)
            known = best.setdefault(source, found)
            best[source] = {name: min(known[name], found[name]) for name in found}
    for name, here in best[own].items():
        line = f"{name:<28} {here:10.3f} us"
        for other in sources[1:]:
            line += f"  other {best[other][name]:10.3f} us  ratio {here / best[other][name]:.3f}"
        print(line)


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(json.dumps(measured()))
    else:
        main(sys.argv[1:])
