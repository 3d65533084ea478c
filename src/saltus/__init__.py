"""saltus: mechanical systems with impacts, contact, joints and Coulomb friction, integrated with a certificate.

Names are imported when they are first asked for: `import saltus` and `saltus --help` take hundredths of a second.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltus import contact, control, errors, mechanics, plot, problems, schemes, study, sweep, view
    from saltus.contact import NSGS, ContactProblem, Lemke
    from saltus.errors import (
        ChatteringError,
        CheckpointWarning,
        DamagedFileError,
        FileError,
        FileFormatError,
        FunctionError,
        LimitError,
        MissingExtraError,
        ModelError,
        RunError,
        SaltusError,
        SettingError,
        SlowFunctionWarning,
    )
    from saltus.event import Event
    from saltus.family import BodyFamily, ContactFamily, ForceFamily, JointFamily
    from saltus.io.results import load
    from saltus.parameters import Parameters
    from saltus.problem import Exact, Problem
    from saltus.schemes import (
        AnyOrder,
        EventDriven,
        Extrapolated,
        GeneralizedAlpha,
        HalfExplicitTDG,
        HpTDG,
        MoreauJean,
        PaoliVelocity,
        SchatzmanPaoli,
        Splitting,
        StepDoubling,
        TDGMinus,
        TDGPlus,
    )
    from saltus.solution import Solution
    from saltus.solve import resume, solve
    from saltus.status import Status
    from saltus.system import Contact, Joint, System
    from saltus.verification import Verification

__version__ = "0.1.0"

MODULES = ("contact", "control", "errors", "mechanics", "plot", "problems", "schemes", "study", "sweep", "view")

# the module that each name comes from
HOMES = {
    "NSGS": "contact",
    "AnyOrder": "schemes",
    "BodyFamily": "family",
    "ChatteringError": "errors",
    "CheckpointWarning": "errors",
    "Contact": "system",
    "ContactFamily": "family",
    "ContactProblem": "contact",
    "DamagedFileError": "errors",
    "Event": "event",
    "EventDriven": "schemes",
    "Exact": "problem",
    "Extrapolated": "schemes",
    "FileError": "errors",
    "FileFormatError": "errors",
    "ForceFamily": "family",
    "FunctionError": "errors",
    "GeneralizedAlpha": "schemes",
    "HalfExplicitTDG": "schemes",
    "HpTDG": "schemes",
    "Joint": "system",
    "JointFamily": "family",
    "Lemke": "contact",
    "LimitError": "errors",
    "MissingExtraError": "errors",
    "ModelError": "errors",
    "MoreauJean": "schemes",
    "PaoliVelocity": "schemes",
    "Parameters": "parameters",
    "Problem": "problem",
    "RunError": "errors",
    "SaltusError": "errors",
    "SchatzmanPaoli": "schemes",
    "SettingError": "errors",
    "SlowFunctionWarning": "errors",
    "Solution": "solution",
    "Splitting": "schemes",
    "Status": "status",
    "StepDoubling": "schemes",
    "System": "system",
    "TDGMinus": "schemes",
    "TDGPlus": "schemes",
    "Verification": "verification",
    "load": "io.results",
    "resume": "solve",
    "solve": "solve",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for first."""
    if name in MODULES:
        return importlib.import_module(f"saltus.{name}")
    if name in HOMES:
        found = getattr(importlib.import_module(f"saltus.{HOMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'saltus' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return every public name, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__", "__version__"])


class _Package(ModuleType):
    """The package, whose `solve` is the function, also after the file solve.py was imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "solve" and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple:
        return importlib.import_module, (self.__name__,)  # cloudpickle knows plain modules only


sys.modules[__name__].__class__ = _Package

__all__ = [
    "NSGS",
    "AnyOrder",
    "BodyFamily",
    "ChatteringError",
    "CheckpointWarning",
    "Contact",
    "ContactFamily",
    "ContactProblem",
    "DamagedFileError",
    "Event",
    "EventDriven",
    "Exact",
    "Extrapolated",
    "FileError",
    "FileFormatError",
    "ForceFamily",
    "FunctionError",
    "GeneralizedAlpha",
    "HalfExplicitTDG",
    "HpTDG",
    "Joint",
    "JointFamily",
    "Lemke",
    "LimitError",
    "MissingExtraError",
    "ModelError",
    "MoreauJean",
    "PaoliVelocity",
    "Parameters",
    "Problem",
    "RunError",
    "SaltusError",
    "SchatzmanPaoli",
    "SettingError",
    "SlowFunctionWarning",
    "Solution",
    "Splitting",
    "Status",
    "StepDoubling",
    "System",
    "TDGMinus",
    "TDGPlus",
    "Verification",
    "contact",
    "control",
    "errors",
    "load",
    "mechanics",
    "plot",
    "problems",
    "resume",
    "schemes",
    "solve",
    "study",
    "sweep",
    "view",
]
