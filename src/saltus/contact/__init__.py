"""Contact problems and their solvers: one solver per file, one yardstick for all."""

from typing import TYPE_CHECKING

from saltus.contact.admm import ADMM
from saltus.contact.conic import ConicFixedPoint
from saltus.contact.diagnosis import diagnose
from saltus.contact.direct import Direct
from saltus.contact.homotopy import Homotopy
from saltus.contact.lemke import Lemke
from saltus.contact.nsgs import NSGS
from saltus.contact.portfolio import Portfolio
from saltus.contact.problem import ContactProblem, ContactResult
from saltus.contact.redundancy import minimum_norm, uniqueness
from saltus.contact.semismooth_newton import SemismoothNewton

if TYPE_CHECKING:
    from saltus.io.fclib import read_fclib, write_fclib

__all__ = [
    "ADMM",
    "NSGS",
    "ConicFixedPoint",
    "ContactProblem",
    "ContactResult",
    "Direct",
    "Homotopy",
    "Lemke",
    "Portfolio",
    "SemismoothNewton",
    "diagnose",
    "minimum_norm",
    "read_fclib",
    "uniqueness",
    "write_fclib",
]


def __getattr__(name: str):
    """Open the door to the files, which lie above the contact problems."""
    if name in ("read_fclib", "write_fclib"):
        from saltus.io import fclib

        return getattr(fclib, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
