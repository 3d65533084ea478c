"""Many runs: bifurcation diagrams, maps, Monte Carlo, on one core, on all of them, or on a cluster.

from saltus import sweep
sweep.bifurcation(system, q0, v0, w=np.linspace(2, 4, 300), section=sweep.Strobe(lambda: 2 * np.pi / p.w))
sweep.grid(system, q0, v0, w=..., e=..., t_span=(0, 100), measures=[sweep.ImpactStatistics("stop")])
sweep.monte_carlo(system, q0, v0, gap=sweep.Normal(0, 1e-3), runs=10_000, seed=7, t_span=(0, 100), measures=[...])
"""

from __future__ import annotations

from saltus.sweep.bifurcation import Bifurcation, bifurcation
from saltus.sweep.distributions import Choice, LogNormal, Normal, Triangular, Uniform
from saltus.sweep.executors import Dask, Processes, Serial, Threads
from saltus.sweep.grid import Grid, grid
from saltus.sweep.measures import (
    Events,
    Extremes,
    FirstPassage,
    Impacts,
    ImpactStatistics,
    Period,
    Reduce,
    Strobe,
    Worst,
)
from saltus.sweep.monte_carlo import MonteCarlo, monte_carlo
from saltus.sweep.result import Sweep

__all__ = [
    "Bifurcation", "Choice", "Dask", "Events", "Extremes", "FirstPassage", "Grid", "ImpactStatistics", "Impacts",
    "LogNormal", "MonteCarlo", "Normal", "Period", "Processes", "Reduce", "Serial", "Strobe", "Sweep", "Threads",
    "Triangular", "Uniform", "Worst", "bifurcation", "grid", "monte_carlo",
]  # fmt: skip
