"""Published experiments, run anew: one file each, which makes a Reproduction, a Lecture or Tabled results."""

from __future__ import annotations

from collections.abc import Callable

from .delassus import delassus
from .experiment import Experiment, Reproduction
from .figures_5_7 import figures_5_7
from .lecture import Lecture, lecture
from .lecture_orders import lecture_orders
from .paoli import paoli
from .tabled import Tabled

REPRODUCTIONS: dict[str, Callable[..., Reproduction | Lecture | Tabled]] = {
    "figures-5-7": figures_5_7,
    "lecture": lecture,
    "lecture-orders": lecture_orders,
    "paoli": paoli,
    "delassus": delassus,
}

__all__ = [
    "REPRODUCTIONS",
    "Experiment",
    "Lecture",
    "Reproduction",
    "Tabled",
    "delassus",
    "figures_5_7",
    "lecture",
    "lecture_orders",
    "paoli",
]
