"""Contact problems and their solvers: one solver per file, one yardstick for all.

What every run needs is imported at once, the rest when it is asked for: scipy's sparse matrices alone take as long as
all of it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from saltus.contact.direct import Direct
from saltus.contact.lemke import Lemke
from saltus.contact.nsgs import NSGS
from saltus.contact.problem import ContactProblem, ContactResult

if TYPE_CHECKING:
    from saltus.contact.admm import ADMM
    from saltus.contact.coloured import ColouredNSGS
    from saltus.contact.conic import ConicFixedPoint
    from saltus.contact.diagnosis import Diagnosis, diagnose
    from saltus.contact.homotopy import Homotopy
    from saltus.contact.portfolio import Portfolio
    from saltus.contact.redundancy import minimum_norm, uniqueness
    from saltus.contact.semismooth_newton import SemismoothNewton
    from saltus.io.fclib import read_fclib, write_fclib

# the files lie above the contact problems: this is their door
_LATER = {
    "ADMM": "saltus.contact.admm",
    "ColouredNSGS": "saltus.contact.coloured",
    "ConicFixedPoint": "saltus.contact.conic",
    "Diagnosis": "saltus.contact.diagnosis",
    "Homotopy": "saltus.contact.homotopy",
    "Portfolio": "saltus.contact.portfolio",
    "SemismoothNewton": "saltus.contact.semismooth_newton",
    "diagnose": "saltus.contact.diagnosis",
    "minimum_norm": "saltus.contact.redundancy",
    "uniqueness": "saltus.contact.redundancy",
    "read_fclib": "saltus.io.fclib",
    "write_fclib": "saltus.io.fclib",
}

__all__ = [
    "ADMM",
    "NSGS",
    "ColouredNSGS",
    "ConicFixedPoint",
    "ContactProblem",
    "ContactResult",
    "Diagnosis",
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


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
