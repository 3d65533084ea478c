"""Studies of runs: errors in norms, filled-in graphs, orders, work against precision, local errors, published runs."""

from __future__ import annotations

from .convergence import convergence
from .hausdorff import hausdorff, hausdorff_polylines
from .hausdorff_space import hausdorff_in_space
from .local_error import LocalError, ball_local_error, local_error
from .norms import error, errors
from .reproductions import Reproduction, figures_5_7
from .table import Convergence
from .work_precision import work_precision
from .work_table import WorkPoint, WorkPrecision

__all__ = [
    "Convergence",
    "LocalError",
    "Reproduction",
    "WorkPoint",
    "WorkPrecision",
    "ball_local_error",
    "convergence",
    "error",
    "errors",
    "figures_5_7",
    "hausdorff",
    "hausdorff_in_space",
    "hausdorff_polylines",
    "local_error",
    "work_precision",
]


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
