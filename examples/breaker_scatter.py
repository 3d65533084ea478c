"""When does a circuit breaker close if its clearances scatter? With `1000 scatter.png`: 1000 runs and a picture.

They are kept in the folder breaker_runs: ended and started again, the program goes on where it was.
"""

import sys

import numpy as np

from saltus import problems, sweep


def scatter(runs: int, t_end: float, store: str | None = None, executor=None) -> sweep.MonteCarlo:
    """Return runs of the breaker whose clearance is drawn [m]."""
    return sweep.monte_carlo(
        problems.circuit_breaker, clearance=sweep.Normal(5e-5, 5e-6), runs=runs, seed=3, t_span=(0.0, t_end), tol=1e-4,
        measures=[sweep.FirstPassage("contact"), sweep.ImpactStatistics()], store=store, executor=executor,
    )  # fmt: skip


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].isdecimal():
        made = scatter(int(sys.argv[1]), 0.01, "breaker_runs", sweep.Processes())
        closed = made["contact_passage"].quantile([0.05, 0.5, 0.95]).values * 1e3
        print(f"{len(made)} runs, {len(made.failed)} failed: closed after {closed[1]:.3f} ms, 5 to 95 % of them in "
              f"{closed[0]:.3f} to {closed[2]:.3f} ms")  # fmt: skip
        made.plot("clearance", "contact_passage").figure.savefig(sys.argv[2], dpi=150)
    else:
        made = scatter(3, 2e-4)  # the first moments only
        drawn, impacts = made.dataset["clearance"].values, made["impacts"].values
        for clearance, count in zip(drawn, impacts, strict=True):
            print(f"clearance {clearance * 1e6:.1f} um: {count:.0f} impacts in 0.2 ms")
        assert len(made.failed) == 0 and np.all(np.abs(drawn - 5e-5) < 5e-5)
