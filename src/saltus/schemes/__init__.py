"""Schemes: one file each; wrappers are schemes made of schemes."""

from saltus.schemes.event_driven import EventDriven
from saltus.schemes.half_explicit_tdg import HalfExplicitTDG
from saltus.schemes.moreau_jean import MoreauJean
from saltus.schemes.paoli_velocity import PaoliVelocity
from saltus.schemes.schatzman_paoli import SchatzmanPaoli
from saltus.schemes.step_doubling import StepDoubling
from saltus.schemes.tdg_minus import TDGMinus
from saltus.schemes.tdg_plus import TDGPlus

__all__ = [
    "EventDriven",
    "HalfExplicitTDG",
    "MoreauJean",
    "PaoliVelocity",
    "SchatzmanPaoli",
    "StepDoubling",
    "TDGMinus",
    "TDGPlus",
]
