"""Seeing a run: the mechanism moves in one HTML file, as a film or as glTF; `Sketch` draws systems written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saltus.view.sketch import Sketch, wave

if TYPE_CHECKING:
    from saltus.view.view import View

__all__ = ["Sketch", "View", "wave"]


def __getattr__(name: str) -> Any:
    """Import View when it is asked for: models need their sketch alone."""
    if name == "View":
        from saltus.view.view import View

        return View
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
