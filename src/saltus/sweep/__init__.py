"""Many runs: bifurcation diagrams, maps, Monte Carlo, on one core, on all of them, or on a cluster; and stability.

from saltus import sweep
sweep.bifurcation(system, q0, v0, w=np.linspace(2, 4, 300), section=sweep.Strobe(lambda: 2 * np.pi / p.w))
sweep.grid(system, q0, v0, w=..., e=..., t_span=(0, 100), measures=[sweep.ImpactStatistics("stop")])
sweep.monte_carlo(system, q0, v0, gap=sweep.Normal(0, 1e-3), runs=10_000, seed=7, t_span=(0, 100), measures=[...])
sweep.lyapunov(system, q0, v0, impacts=1000, transient=200.0)
sweep.periodic_orbit(system, period=lambda: 2 * np.pi / p.w, start=solution)
sweep.sensitivity(system, (0, 20), q0, v0, of=sweep.ImpactTime("stop", 3), by=["w", "e"])
"""

from __future__ import annotations

from saltus.ensemble.lane_engine import MoreauJeanLanes
from saltus.sweep.bifurcation import Bifurcation, bifurcation
from saltus.sweep.distributions import Choice, LogNormal, Normal, Triangular, Uniform
from saltus.sweep.executors import Dask, Processes, Serial, Threads
from saltus.sweep.grid import Grid, grid
from saltus.sweep.lyapunov import Lyapunov, lyapunov
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
from saltus.sweep.periodic_orbit import OrbitError, PeriodicOrbit, periodic_orbit
from saltus.sweep.result import Sweep
from saltus.sweep.sensitivity import EndState, Extreme, ImpactTime, Impulse, Sensitivity, sensitivity

__all__ = [
    "Bifurcation", "Choice", "Dask", "EndState", "Events", "Extreme", "Extremes", "FirstPassage", "Grid",
    "ImpactStatistics", "ImpactTime", "Impacts", "Impulse", "LogNormal", "Lyapunov", "MonteCarlo", "MoreauJeanLanes",
    "Normal", "OrbitError", "Period", "PeriodicOrbit", "Processes", "Reduce", "Sensitivity", "Serial", "Strobe",
    "Sweep", "Threads", "Triangular", "Uniform", "Worst", "bifurcation", "grid", "lyapunov", "monte_carlo",
    "periodic_orbit", "sensitivity",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
