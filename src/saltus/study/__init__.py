"""Studies of runs: errors in norms, filled-in graphs, orders of convergence, local errors."""

from __future__ import annotations

from .convergence import convergence
from .hausdorff import hausdorff, hausdorff_polylines
from .local_error import LocalError, ball_local_error, local_error
from .norms import error, errors
from .table import Convergence

__all__ = [
    "Convergence",
    "LocalError",
    "ball_local_error",
    "convergence",
    "error",
    "errors",
    "hausdorff",
    "hausdorff_polylines",
    "local_error",
]
