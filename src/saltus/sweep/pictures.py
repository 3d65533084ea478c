"""Pictures of sweeps, with matplotlib."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from saltus.sweep.result import Sweep

WAY_COLOURS = {"up": "tab:blue", "down": "tab:red"}


def _axes(ax: Axes | None) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise SettingError("pictures need matplotlib: pip install saltus[plot]") from error
    return plt.subplots(layout="constrained")[1]


def _label(variable: Any, name: str) -> str:
    unit = variable.attrs.get("units", "")
    return f"{name.replace('_', ' ')} [{unit}]" if unit else name.replace("_", " ")


def draw_points(sweep: Sweep, y: str | None, ax: Axes | None, options: dict[str, Any]) -> Any:
    """Draw sections over a parameter."""
    data, (_, name) = sweep.dataset, sweep._dims
    prefix = next(one for one in ("", "impact_", "event_") if f"{one}q" in data)
    if y is None:
        y = "impact_u_minus" if prefix == "impact_" else "q0"
    found = re.fullmatch(r"([qv])(\d+)", y)  # an entry of the state
    if found is not None:
        letter, place = found[1], int(found[2])
        values = data[f"{prefix}{letter}"]
        if place >= values.sizes[values.dims[-1]]:
            raise SettingError(f"y is {y!r}, but there are {values.sizes[values.dims[-1]]} of {letter}")
        values = values[..., place]
    elif y in data and data[y].dims[-1:] == ("point",):
        values = data[y]
    else:
        raise SettingError(f"y is {y!r}: give q0, v0, ... or a variable of the dataset over points")
    axes = _axes(ax)
    for way in data["direction"].values.tolist():
        points = values.sel(direction=way).values
        x = np.repeat(data[name].values, points.shape[1])
        style = {"color": WAY_COLOURS[way], "ls": "", "marker": ".", "ms": 2, "mew": 0, "label": way, **options}
        axes.plot(x, points.ravel(), **style)
    axes.set_xlabel(name)
    axes.set_ylabel(_label(values, y))
    if data.sizes["direction"] > 1:
        marks = [axes.plot([], [], "o", ms=4, color=WAY_COLOURS[way], label=way)[0] for way in WAY_COLOURS]
        axes.legend(handles=marks)
    return axes


def _measure(sweep: Sweep, name: str | None, dims: tuple[str, ...]) -> str:
    """Return the name of a measure with one number per run; by default the first one that is no bookkeeping."""
    data = sweep.dataset
    fitting = [one for one in data.data_vars if data[one].dims == dims]
    if name is None:
        own = [one for one in fitting if one not in ("status", "steps", "t_end")]
        return str((own or fitting)[0])
    if name not in fitting and name not in data.coords:
        raise SettingError(
            f"there is no measure {name!r} with one number per run: there are {', '.join(map(str, fitting))}"
        )
    return name


def draw_map(sweep: Sweep, measure: str | None, ax: Axes | None, options: dict[str, Any]) -> Any:
    """Draw a curve over one parameter, or a map over two."""
    dims: list[str] = list(sweep._dims)
    if len(dims) > 2:
        raise SettingError(f"a grid over {', '.join(dims)} has no picture: take .dataset.sel(...) and plot a slice")
    data, name = sweep.dataset, _measure(sweep, measure, sweep._dims)
    axes, values = _axes(ax), data[name]
    if len(dims) == 1:
        axes.plot(data[dims[0]], values, **{"marker": ".", **options})
        axes.set_ylabel(_label(values, name))
    else:
        drawn = axes.pcolormesh(data[dims[0]], data[dims[1]], values.T, **{"shading": "nearest", **options})
        axes.figure.colorbar(drawn, ax=axes, label=_label(values, name))
        axes.set_ylabel(dims[1])
    axes.set_xlabel(dims[0])
    return axes


def draw_scatter(sweep: Sweep, x: str | None, y: str | None, ax: Axes | None, options: dict[str, Any]) -> Any:
    """Draw one measure over another, or a histogram."""
    data = sweep.dataset
    first = _measure(sweep, x, ("run",))
    axes = _axes(ax)
    if y is None:
        values = data[first].values
        axes.hist(values[np.isfinite(values)], **{"bins": 40, **options})
        axes.set_ylabel("runs")
    else:
        second = _measure(sweep, y, ("run",))
        axes.plot(data[first], data[second], **{"ls": "", "marker": ".", "ms": 3, **options})
        axes.set_ylabel(_label(data[second], second))
    axes.set_xlabel(_label(data[first], first))
    return axes
