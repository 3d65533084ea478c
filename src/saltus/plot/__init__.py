"""Pictures of runs by matplotlib, one figure per file; each function returns the axes that it drew into.

    saltus.plot.phase(sol, "x")                          position against velocity, jumps dotted
    saltus.plot.gantt(sol, time="event")                 which contact is closed when, impulses as stems
    saltus.plot.energy(sol)                              where the energy is, and the defect of the scheme
    saltus.plot.impact_map(sol, "floor")                 from one impact to the next, with cobweb
    saltus.plot.section(sol, "x", "x_dot", period=0.7)   Poincare section
    saltus.plot.spectrum(sol, "x_dot")                   amplitudes over frequency
    saltus.plot.friction_cone(sol, "floor")              forces of a contact in its friction cone
    saltus.plot.strobe(sol)                              a mechanism at several times

All take `axes=` (where to draw), `width=` ("one column" of 85 mm, "two columns" of 174 mm, millimetres) and `path=`
(.pdf, .svg, .png); those over time take `time="event"`: equal room between impacts. Figures are made without pyplot: no
display, no global state, nothing to close.
"""

from __future__ import annotations

from saltus.errors import MissingExtraError

try:
    import matplotlib as _matplotlib  # noqa: F401  asked here, so that the error names the extra
except ImportError as missing:
    raise MissingExtraError("plots need matplotlib: pip install saltus[plot]") from missing

from saltus.plot.energy import energy
from saltus.plot.friction_cone import friction_cone
from saltus.plot.gantt import gantt
from saltus.plot.impact_map import impact_map
from saltus.plot.page import COLOURS, PLOT, FigureCanvasAgg, SolutionFigure  # noqa: F401  for other files of saltus
from saltus.plot.phase import phase
from saltus.plot.section import section
from saltus.plot.solution import plot_solution  # noqa: F401
from saltus.plot.spectrum import plot_spectrum, spectrum  # noqa: F401
from saltus.plot.steps import plot_steps  # noqa: F401
from saltus.plot.strobe import strobe
from saltus.plot.verification import plot_verification  # noqa: F401

__all__ = ["energy", "friction_cone", "gantt", "impact_map", "phase", "section", "spectrum", "strobe"]


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
