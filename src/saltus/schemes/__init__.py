"""Schemes: one file each; wrappers are schemes made of schemes.

They are imported when they are first asked for: a program uses one or two of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saltus.schemes.any_order import AnyOrder
    from saltus.schemes.event_driven import EventDriven
    from saltus.schemes.extrapolated import Extrapolated
    from saltus.schemes.generalized_alpha import GeneralizedAlpha
    from saltus.schemes.half_explicit_tdg import HalfExplicitTDG
    from saltus.schemes.hp_tdg.scheme import HpTDG
    from saltus.schemes.moreau_jean import MoreauJean
    from saltus.schemes.paoli_velocity import PaoliVelocity
    from saltus.schemes.schatzman_paoli import SchatzmanPaoli
    from saltus.schemes.splitting import Splitting
    from saltus.schemes.step_doubling import StepDoubling
    from saltus.schemes.tdg.minus import TDGMinus
    from saltus.schemes.tdg.plus import TDGPlus

SCHEME_HOMES = {
    "AnyOrder": "any_order",
    "EventDriven": "event_driven",
    "Extrapolated": "extrapolated",
    "GeneralizedAlpha": "generalized_alpha",
    "HalfExplicitTDG": "half_explicit_tdg",
    "HpTDG": "hp_tdg.scheme",
    "MoreauJean": "moreau_jean",
    "PaoliVelocity": "paoli_velocity",
    "SchatzmanPaoli": "schatzman_paoli",
    "Splitting": "splitting",
    "StepDoubling": "step_doubling",
    "TDGMinus": "tdg.minus",
    "TDGPlus": "tdg.plus",
}

__all__ = [
    "AnyOrder",
    "EventDriven",
    "Extrapolated",
    "GeneralizedAlpha",
    "HalfExplicitTDG",
    "HpTDG",
    "MoreauJean",
    "PaoliVelocity",
    "SchatzmanPaoli",
    "Splitting",
    "StepDoubling",
    "TDGMinus",
    "TDGPlus",
]


def __getattr__(name: str):
    """Import the scheme of that name."""
    if name not in SCHEME_HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"saltus.schemes.{SCHEME_HOMES[name]}"), name)


def default_scheme():
    """Return the scheme of runs that name none."""
    return __getattr__("HpTDG")()


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
