"""Published experiments, run anew: one file each, which makes a Reproduction."""

from __future__ import annotations

from collections.abc import Callable

from .experiment import Experiment, Reproduction
from .figures_5_7 import figures_5_7

REPRODUCTIONS: dict[str, Callable[..., Reproduction]] = {"figures-5-7": figures_5_7}

__all__ = ["REPRODUCTIONS", "Experiment", "Reproduction", "figures_5_7"]
