"""Studies of many runs and of their stability."""

from __future__ import annotations

from saltus.sweep.lyapunov import Lyapunov, lyapunov

__all__ = ["Lyapunov", "lyapunov"]
