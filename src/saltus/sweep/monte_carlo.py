"""Monte Carlo: many runs whose parameters and starts scatter."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError
from saltus.sweep.asked import Asked, prepare
from saltus.sweep.distributions import is_distribution, shares
from saltus.sweep.measures import Measure, listed, positive_whole
from saltus.sweep.result import Sweep
from saltus.sweep.running import made_sweep
from saltus.sweep.swept import real

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from saltus.ensemble.lane_engine import MoreauJeanLanes
    from saltus.schemes.plan import SchemeLike


class MonteCarlo(Sweep):
    """Runs with random parameters; the dataset has the dimension run, and the drawn values as coordinates."""

    kind = "monte carlo"

    def plot(self, x: str | None = None, y: str | None = None, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw one measure over a drawn value or over another measure, or the histogram of x where there is no y."""
        from saltus.sweep.pictures import draw_scatter

        return draw_scatter(self, x, y, ax, options)


def monte_carlo(
    model: Any,
    q0: Any = None,
    v0: Any = None,
    *,
    runs: int,
    seed: int = 0,
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
) -> MonteCarlo:
    """Make many runs whose parameters and starts are drawn from distributions.

    Parameters
    ----------
    model
        A `System` or `Problem` with `Parameters`, a mechanism, or a function of the drawn values that returns a
        Problem, which is called once per run; its problems must have the same structure.
    q0, v0
        Start: numbers or distributions, one for each coordinate and velocity; None takes those of a Problem.
    runs, seed
        Number of runs. What run k draws hangs on the seed, the name of the value and k alone.
    measures
        What is kept of every run.
    t_span, section, transient, keep, parameters
        As for `grid`.
    executor
        `Serial()`, `Threads(n)`, `Processes(n)` or `Dask(client)`: who makes the runs changes no bit of the result.
    store
        Folder in which chunks of runs are kept. The same call, made again after the program was ended in any way, makes
        what is missing.
    chunk
        Runs of one chunk.
    progress
        Show a bar; None: on a terminal, after a second.
    scheme, h, tol, options
        As for `solve`; options takes the others, like {"max_steps": 10_000}.
    swept
        Parameters by name: a distribution, such as `Normal(0.1, 0.01)`, or one value per run.
    """
    runs = positive_whole(runs, "runs")
    table = {name: _drawn(name, given, seed, runs) for name, given in swept.items()}
    starts, drawn = {}, dict(table)
    for name, given in (("q0", q0), ("v0", v0)):
        starts[name] = given
        entries = list(given) if isinstance(given, Sequence) or np.ndim(given) == 1 else [given]
        if any(is_distribution(one) for one in entries):
            columns = [
                _drawn(f"{name}[{i}]", one if is_distribution(one) else [one] * runs, seed, runs)
                for i, one in enumerate(entries)
            ]
            drawn |= {f"{name}_{i}": columns[i] for i, one in enumerate(entries) if is_distribution(one)}
            starts[name] = np.stack(columns, axis=1)
    if not drawn:
        raise SettingError("nothing is drawn: give parameters or starts distributions, like gap=Normal(0, 1e-3)")
    if section is not None:
        transient = positive_whole(transient or 0, "transient", 0)
    settings = {"scheme": scheme, "h": h, "tol": tol, **(options or {})}
    asked = Asked(
        model, runs, table, starts["q0"], starts["v0"], t_span, listed(measures),
        {key: one for key, one in settings.items() if one is not None}, dict(parameters or {}), section, transient,
        positive_whole(keep, "keep"),
    )  # fmt: skip
    prepared = prepare(asked)
    reduced = made_sweep(prepared, executor, store, chunk, progress)
    coords = {"run": (("run",), np.arange(runs)), **{name: (_dims(name, of), of) for name, of in drawn.items()}}
    return MonteCarlo(prepared, reduced, ("run",), (runs,), coords)


def _dims(name: str, values: np.ndarray) -> tuple[str, ...]:
    """Return the dimensions of drawn values; a parameter of several numbers has places."""
    return ("run", *(f"{name}_place{k or ''}" for k in range(values.ndim - 1)))


def _drawn(name: str, given: Any, seed: int, runs: int) -> np.ndarray:
    """Return one value per run."""
    if is_distribution(given):
        return np.ascontiguousarray(given.quantile(shares(seed, name, runs)), dtype=float)
    values = real(given)
    if values is None or values.ndim == 0 or len(values) != runs or not np.all(np.isfinite(values)):
        raise SettingError(f"{name} is {given!r:.60}: give a distribution such as Normal(0.1, 0.01), or {runs} numbers")
    return values
