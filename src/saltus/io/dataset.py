"""A Solution as an xarray Dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from saltus.errors import MissingExtraError, SettingError
from saltus.results.names import coordinate_names, coordinate_units, velocity_names, velocity_units

if TYPE_CHECKING:
    import xarray

    from saltus.solution import Solution


def to_dataset(solution: Solution) -> xarray.Dataset:
    """Return a Dataset over t; what belongs to a step stands at its end, with zero at the start."""
    try:
        import xarray
    except ImportError as missing:
        raise MissingExtraError("datasets need xarray: pip install saltus[xarray]") from missing
    energy, events = solution.energy, solution.events
    variables = {
        "q": (("t", "coordinate"), solution.q, {}),
        "v": (("t", "velocity"), solution.v, {"long_name": "right limit"}),
        "v_minus": (("t", "velocity"), solution.v_minus, {"long_name": "left limit"}),
        "impulse": (("t", "row"), _from_zero(solution.impulse), {"units": "N s", "long_name": "since the time before"}),
        "residual": (("t",), _from_zero(solution.residual), {}),
        "violation": (("t",), _from_zero(solution.violation), {"units": "m"}),
        "admissibility": (("t",), _from_zero(solution.admissibility), {}),
        "step_error": (("t",), _from_zero(solution.step_error), {}),
        "kinetic": (("t",), energy.kinetic, {"units": "J"}),
        "work": (("t",), energy.work, {"units": "J"}),
        "dissipation": (("t", "contact"), energy.dissipation, {"units": "J"}),
    }
    try:
        variables["gap"] = (("t", "contact"), solution.gaps(), {"units": "m"})
    except SettingError:
        pass  # a file may lack them
    for name in events.dtype.names or ():
        dims = ("event", "axis") if events[name].ndim == 2 else ("event",)
        variables[f"event_{name}"] = (dims, events[name], {})
    nq, nv = solution.q.shape[1], solution.v.shape[1]
    coords = {
        "coordinate": np.array(coordinate_names(solution.system, nq), dtype=str),
        "velocity": np.array(velocity_names(solution.system, nq, nv), dtype=str),
        "t": ("t", solution.t, {"units": "s"}),
        "row": np.array([f"{name} {axis}" for name, axis in solution.rows], dtype=str),
        "contact": np.array(solution.system.contact_names, dtype=str),
        "axis": np.array(["N", "T1", "T2"]),
    }
    if solution.system.units:
        coords["coordinate_units"] = ("coordinate", np.array(coordinate_units(solution.system, nq), dtype=str))
        coords["velocity_units"] = ("velocity", np.array(velocity_units(solution.system, nq, nv), dtype=str))
    attributes = {
        "name": solution.name or solution.system.name or "system",
        "scheme": repr(solution.scheme),
        "status": solution.status.name,
        "message": solution.message,
    }
    attributes |= {f"work_{key}": count for key, count in solution.work.items()}
    return xarray.Dataset(variables, coords, attributes)


def _from_zero(steps: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((1, *steps.shape[1:])), steps])
