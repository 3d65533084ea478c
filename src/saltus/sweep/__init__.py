"""Studies of many runs and of their stability."""

from __future__ import annotations

from saltus.sweep.lyapunov import Lyapunov, lyapunov
from saltus.sweep.periodic_orbit import OrbitError, PeriodicOrbit, periodic_orbit

__all__ = ["Lyapunov", "OrbitError", "PeriodicOrbit", "lyapunov", "periodic_orbit"]
