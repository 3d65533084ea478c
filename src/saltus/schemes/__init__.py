"""Schemes: one file each; wrappers are schemes made of schemes."""

from saltus.schemes.moreau_jean import MoreauJean
from saltus.schemes.step_doubling import StepDoubling

__all__ = ["MoreauJean", "StepDoubling"]
