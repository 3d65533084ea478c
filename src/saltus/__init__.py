"""saltus: mechanical systems with impacts, contact, joints and Coulomb friction, integrated with a certificate."""

import importlib
from typing import TYPE_CHECKING

from saltus import contact, schemes
from saltus.contact import NSGS, ContactProblem, Lemke
from saltus.errors import (
    ChatteringError,
    CheckpointWarning,
    DamagedFileError,
    FileError,
    FileFormatError,
    FunctionError,
    LimitError,
    ModelError,
    RunError,
    SaltusError,
    SettingError,
    SlowFunctionWarning,
)
from saltus.event import Event
from saltus.family import BodyFamily, ContactFamily, ForceFamily, JointFamily
from saltus.parameters import Parameters
from saltus.problem import Exact, Problem
from saltus.solution import Solution
from saltus.solve import resume, solve
from saltus.status import Status
from saltus.system import Contact, Joint, System
from saltus.verification import Verification

if TYPE_CHECKING:
    from saltus.io import load
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

__version__ = "0.1.0"


def __getattr__(name: str):
    """Import schemes, problems, studies and files when they are first asked for: most programs need few."""
    if name in ("mechanics", "problems", "study", "sweep"):
        return importlib.import_module(f"saltus.{name}")
    if name == "load":
        return importlib.import_module("saltus.io.results").load
    if name in schemes.__all__:
        return getattr(schemes, name)
    raise AttributeError(f"module 'saltus' has no attribute {name!r}")


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
    "load",
    "mechanics",
    "problems",
    "resume",
    "solve",
    "study",
]
