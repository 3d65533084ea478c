"""What a second run says: mean errors over what is promised, and where the runs part."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from saltus.plot.page import COLOURS, looks, new_figure, saved

if TYPE_CHECKING:
    from saltus.verification import Verification


def plot_verification(verification: Verification, *, path: str | os.PathLike | None = None) -> Figure:
    """Draw the mean errors of q, v and i over what is promised, for runs that end at t; a line where the runs part.

    Errors of zero are left out. path writes .png, .pdf or .svg.
    """
    with looks():
        figure = new_figure(None, 3.2)
        axes = figure.subplots()
        for name, ratios, colour in zip(verification.ratios, verification.growth.T, COLOURS, strict=False):
            axes.plot(verification.t, np.where(ratios > 0.0, ratios, np.nan), color=colour, label=name)
        axes.axhline(1.0, color="0.5", lw=0.8)
        parting = verification.parting
        if parting is not None:
            axes.axvline(parting.t, color="0.5", lw=0.8, ls="--", label=f"{parting.kind} {parting.contact}".strip())
        axes.set_title("\n".join(textwrap.wrap(verification.sentence, 110)), loc="left", fontsize=9.0)
        axes.set_yscale("log")
        axes.set_xlabel("time t at which the run ends [s]")
        axes.set_ylabel("mean error / promise" if verification.promised else "mean error / 0.01 of the motion")
        axes.legend(loc="lower right", frameon=False, fontsize=8.0)
        saved(figure, path)
    return figure
