"""Schemes: one file each; wrappers are schemes made of schemes."""

from saltus.schemes.moreau_jean import MoreauJean
from saltus.schemes.paoli_velocity import PaoliVelocity
from saltus.schemes.schatzman_paoli import SchatzmanPaoli
from saltus.schemes.step_doubling import StepDoubling

__all__ = ["MoreauJean", "PaoliVelocity", "SchatzmanPaoli", "StepDoubling"]
