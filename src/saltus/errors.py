"""Errors of saltus.

SaltusError
├── ModelError          a system, contact, joint or start value is wrong (also a ValueError)
│   └── FunctionError   a user's function raised, or returned the wrong shape or a non-finite number
├── SettingError        an argument of solve, a scheme or a solver is wrong (also a ValueError)
├── RunError            a run stopped before its end; `.solution` holds what was computed
│   ├── LimitError         it has spent max_steps or max_memory
│   └── ChatteringError    it goes on making steps or events, but its time does not advance
├── FileError           a file cannot be read or written (also an OSError)
│   ├── FileFormatError    it is no file of saltus, or of another kind or version
│   └── DamagedFileError   its checksum does not fit
└── MissingExtraError   an optional library is not installed
SlowFunctionWarning     a function of the model is slower than it could be
CheckpointWarning       a checkpoint could not be written; the run goes on
"""

from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    from saltus.solution import Solution

__all__ = [
    "ChatteringError",
    "CheckpointWarning",
    "DamagedFileError",
    "FileError",
    "FileFormatError",
    "FunctionError",
    "LimitError",
    "MissingExtraError",
    "ModelError",
    "RunError",
    "SaltusError",
    "SettingError",
    "SlowFunctionWarning",
]


class SaltusError(Exception):
    """Any error that saltus raises on purpose."""


class ModelError(SaltusError, ValueError):
    """The mechanical model or its initial data are inconsistent."""


class FunctionError(ModelError):
    """A function given by the user raised an exception or returned something unusable."""


class SettingError(SaltusError, ValueError):
    """An argument is out of range or contradicts another one."""


class RunError(SaltusError, RuntimeError):
    """The run stopped early.

    Attributes
    ----------
    solution
        Everything up to the last finished step, or None when there is no step.
    """

    def __init__(self, message: str, solution: Solution | None = None):
        super().__init__(message)
        self.solution = solution


class LimitError(RunError):
    """The run has spent the steps or the memory that it was allowed."""


class ChatteringError(RunError):
    """Steps or events follow each other without end while time does not advance, as where dry friction is a force."""


class FileError(SaltusError, OSError):
    """A file cannot be read or written."""


class FileFormatError(FileError):
    """A file is not one of saltus, or of another kind or version."""


class DamagedFileError(FileError):
    """A file was changed or cut off after it was written."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the run goes on and the last one stays."""


class SlowFunctionWarning(UserWarning):
    """A function of the model could not be traced or compiled and runs slower."""


class MissingExtraError(SaltusError, ImportError):
    """An optional library is not installed; the message names the extra to install."""


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
