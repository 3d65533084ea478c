"""Published experiments, run anew: one file each, which makes a Reproduction or a Lecture."""

from __future__ import annotations

from collections.abc import Callable

from .experiment import Experiment, Reproduction
from .figures_5_7 import figures_5_7
from .lecture import Lecture, lecture

REPRODUCTIONS: dict[str, Callable[..., Reproduction | Lecture]] = {"figures-5-7": figures_5_7, "lecture": lecture}

__all__ = ["REPRODUCTIONS", "Experiment", "Lecture", "Reproduction", "figures_5_7", "lecture"]
