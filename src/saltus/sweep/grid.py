"""Maps: measures over one to three parameters, each run for itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError
from saltus.sweep.asked import Asked, prepare
from saltus.sweep.measures import Measure, listed, positive_whole
from saltus.sweep.result import Sweep
from saltus.sweep.running import made_sweep
from saltus.sweep.swept import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from saltus.ensemble.lane_engine import MoreauJeanLanes
    from saltus.schemes.plan import SchemeLike

MOST_AXES = 3


class Grid(Sweep):
    """Runs over a grid of parameters; the dataset has one dimension for each of them."""

    kind = "grid"

    def plot(self, measure: str | None = None, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw a measure: a curve over one parameter, a map over two; of three, take a slice of the dataset."""
        from saltus.sweep.pictures import draw_map

        return draw_map(self, measure, ax, options)


def grid(
    model: Any,
    q0: Any = None,
    v0: Any = None,
    *,
    measures: Measure | Sequence[Measure] = (),
    t_span: tuple[Any, Any] | None = None,
    section: Any = None,
    transient: float = 0.0,
    keep: int = 50,
    parameters: dict[str, Any] | None = None,
    executor: Any = None,
    store: str | os.PathLike | None = None,
    chunk: int | None = None,
    progress: bool | None = None,
    scheme: SchemeLike | MoreauJeanLanes | None = None,
    h: float | None = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    **swept: Any,
) -> Grid:
    """Measure a motion over one to three parameters.

    Parameters
    ----------
    model, q0, v0
        As for `monte_carlo`.
    measures
        What is kept of every run, such as `ImpactStatistics("stop")`, `Period()` or `Worst()`.
    t_span
        Start and end [s]; either may be a function of the parameters, like `lambda w: 10 * pi / w`. None: that of the
        Problem.
    section, transient, keep
        A section, with which runs take transient + keep periods (see `bifurcation`) and t_span has no end: (0, None).
        Without one, transient is a time [s] in which nothing is measured.
    parameters
        Values of other parameters, for all runs.
    executor, store, chunk, progress, scheme, h, tol, options
        As for `monte_carlo`.
    swept
        Parameters by name and their values.
    """
    if not 1 <= len(swept) <= MOST_AXES:
        raise SettingError(
            f"a grid has one to {MOST_AXES} parameters, not {len(swept)}: give them by name, like w=values"
        )
    axes = {name: values_of(name, given) for name, given in swept.items()}
    shape = tuple(len(values) for values in axes.values())
    table = dict(zip(axes, (one.ravel() for one in np.meshgrid(*axes.values(), indexing="ij")), strict=True))
    if section is not None:
        transient = positive_whole(transient or 0, "transient", 0)
    settings = {"scheme": scheme, "h": h, "tol": tol, **(options or {})}
    asked = Asked(
        model, int(np.prod(shape)), table, q0, v0, t_span, listed(measures),
        {key: one for key, one in settings.items() if one is not None}, dict(parameters or {}), section, transient,
        positive_whole(keep, "keep"),
    )  # fmt: skip
    prepared = prepare(asked)
    reduced = made_sweep(prepared, executor, store, chunk, progress)
    return Grid(prepared, reduced, tuple(axes), shape, {name: ((name,), values) for name, values in axes.items()})
