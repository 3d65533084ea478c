"""Amplitudes over frequency, the largest peaks named."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.plot.page import COLOURS, Width, figure_of, grid, looks, place, saved

if TYPE_CHECKING:
    from saltus.results.spectrum import Spectrum
    from saltus.solution import Solution

LABEL = 0.15  # width of the name of a peak, as a share of that of the axes


def spectrum(
    solution: Solution,
    x: str | int,
    *,
    dt: float | None = None,
    span: tuple[float, float] | None = None,
    window: Literal["hann", "flattop", "none"] = "hann",
    axes: Axes | None = None,
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> Axes:
    """Draw the amplitude spectrum of a coordinate, velocity or contact force; jumps are transformed exactly.

    x, dt, span and window are those of `Solution.spectrum`.
    """
    return draw_spectrum(solution.spectrum(x, dt=dt, span=span, window=window), axes, width, path)


def plot_spectrum(spectrum: Spectrum, *, axes: Axes | None = None, path: str | os.PathLike | None = None) -> Figure:
    """Draw amplitudes over frequency with a logarithmic axis, the three largest peaks named; path writes a file."""
    return figure_of(draw_spectrum(spectrum, axes, None, path))


def _apart(peaks: list[tuple[float, float]], near: float) -> list[list[tuple[float, float]]]:
    """Return peaks in groups: those nearer than this to a larger one are named beside it, not written over its name."""
    made: list[list[tuple[float, float]]] = []
    for one in peaks:
        group = next((others for others in made if abs(others[0][0] - one[0]) < near), None)
        if group is None:
            made.append([one])
        else:
            group.append(one)
    return made


def draw_spectrum(spectrum: Spectrum, axes: Axes | None, width: Width, path: str | os.PathLike | None) -> Axes:
    """Draw a spectrum into axes or a new figure."""
    title = (
        f"spectrum of {spectrum.name}  \u00b7  t = {spectrum.span[0]:g} to {spectrum.span[1]:g} s, window "
        f"{spectrum.window}, {spectrum.jumps:,} jumps"
    )
    with looks(width):
        axes = place(axes, width, 3.4, title)
        largest = float(np.max(spectrum.amplitude[1:], initial=0.0)) or 1.0
        axes.semilogy(spectrum.f[1:], np.maximum(spectrum.amplitude[1:], 1e-16 * largest), color=COLOURS[0], lw=1.0)
        axes.set_ylim(max(np.median(spectrum.amplitude[1:]), 1e-8 * largest) / 30.0, 3.0 * largest)
        for peaks in _apart(spectrum.peaks(3), LABEL * float(spectrum.f[-1])):
            said = ", ".join(f"{f:.4g}" for f, _ in peaks)
            axes.annotate(f"{said} Hz", peaks[0], xytext=(3, 3), textcoords="offset points", fontsize=8.0)
        axes.set_xlim(0.0, spectrum.f[-1])
        axes.set_xlabel("frequency f [Hz]")
        axes.set_ylabel(f"amplitude of {spectrum.name}" + (f" [{spectrum.units}]" if spectrum.units else ""))
        grid(axes)
        saved(figure_of(axes), path)
    return axes
