"""Seeing a run: the mechanism moves in one HTML file, as a film or as glTF; `Sketch` draws systems written by hand."""

from __future__ import annotations

from saltus.view.sketch import Sketch, wave

__all__ = ["Sketch", "wave"]
