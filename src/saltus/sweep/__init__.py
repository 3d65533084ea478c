"""Studies of many runs and of their stability."""

from __future__ import annotations

from saltus.sweep.lyapunov import Lyapunov, lyapunov
from saltus.sweep.periodic_orbit import OrbitError, PeriodicOrbit, periodic_orbit
from saltus.sweep.sensitivity import EndState, Extreme, ImpactTime, Impulse, Sensitivity, sensitivity

__all__ = [
    "EndState", "Extreme", "ImpactTime", "Impulse", "Lyapunov", "OrbitError", "PeriodicOrbit", "Sensitivity",
    "lyapunov", "periodic_orbit", "sensitivity",
]  # fmt: skip
