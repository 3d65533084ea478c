"""Studies of runs: errors in norms, filled-in graphs, orders of convergence, local errors, published experiments."""

from __future__ import annotations

from .convergence import convergence
from .hausdorff import hausdorff, hausdorff_polylines
from .local_error import LocalError, ball_local_error, local_error
from .norms import error, errors
from .reproductions import Reproduction, figures_5_7
from .table import Convergence

__all__ = [
    "Convergence",
    "LocalError",
    "Reproduction",
    "ball_local_error",
    "convergence",
    "error",
    "errors",
    "figures_5_7",
    "hausdorff",
    "hausdorff_polylines",
    "local_error",
]
