"""Forces of a contact in its friction cone: friction over normal force in the plane, both frictions in space."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes

from saltus.errors import SettingError
from saltus.plot.curve import Curve, between, has_dense_output, off_the_chord, with_points
from saltus.plot.page import COLOURS, Width, figure_of, grid, looks, place, saved, title_of
from saltus.results.reactions import ATOMS

if TYPE_CHECKING:
    from saltus.solution import Solution

CIRCLE = 181  # points of a cone seen from above


def friction_cone(
    solution: Solution,
    contact: str | None = None,
    what: Literal["force", "impulse"] = "force",
    *,
    axes: Axes | None = None,
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> Axes:
    """Draw the forces of a contact, or the impulses of its impacts, in its friction cone.

    In the plane friction over normal force with the two lines of the cone. In space the two frictions over the normal
    force, r_T1 / r_N and r_T2 / r_N, in a circle or ellipse of radius mu: on it the contact slides, inside it sticks.

    Parameters
    ----------
    solution
        What `solve` returned.
    contact
        Name of a contact with friction; may be left out where there is one alone.
    what
        "force" of the lasting contact [N], a curve; "impulse" of its impacts [N s], points.
    axes, width, path
        Where to draw; width of a new figure; file to write.

    Returns
    -------
    matplotlib.axes.Axes
        Lines: the cone, the forces or impulses.
    """
    if what not in ("force", "impulse"):
        raise SettingError(f"what is {what!r}: it must be 'force' or 'impulse'")
    name = _name(solution, contact)
    columns = [j for j, (one, axis) in enumerate(solution.rows) if one == name and axis in ("N", "T", "T1", "T2")]
    mu = _frictions(solution, name, len(columns) - 1)
    points = _impulses(solution, name, len(columns)) if what == "impulse" else _forces(solution, columns)
    letter, unit = ("i", "N s") if what == "impulse" else ("r", "N")
    with looks(width):
        axes = place(axes, width, 5.0, f"{name}  \u00b7  {title_of(solution)}")
        points_alone: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 4.0}
        style: dict[str, Any] = points_alone if what == "impulse" else {"linewidth": 1.1}
        if len(columns) == 2:
            far = 1.08 * max(float(np.nanmax(points[:, 0], initial=0.0)), 1e-300)
            axes.plot([far, 0.0, far], [mu[0] * far, 0.0, -mu[0] * far], color="#888888", linewidth=0.9, label="cone")
            axes.plot(*points.T, color=COLOURS[0], label=what, **style)
            axes.set_xlabel(f"normal ${letter}_N$ [{unit}]")
            axes.set_ylabel(f"friction ${letter}_T$ [{unit}]")
            axes.set_xlim(0.0, far)
        else:
            turn = np.linspace(0.0, 2.0 * np.pi, CIRCLE)
            axes.plot(mu[0] * np.cos(turn), mu[1] * np.sin(turn), color="#888888", linewidth=0.9, label="cone")
            axes.plot(*(points[:, 1:] / points[:, :1]).T, color=COLOURS[0], label=what, **style)
            axes.set_xlabel(f"${letter}_{{T1}} / {letter}_N$")
            axes.set_ylabel(f"${letter}_{{T2}} / {letter}_N$")
            axes.set_aspect("equal")
        grid(axes)
        saved(figure_of(axes), path)
    return axes


def _name(solution: Solution, contact: str | None) -> str:
    rough = [name for name, axis in solution.rows if axis in ("T", "T1")]
    if contact is None and len(rough) == 1:
        return rough[0]
    if contact is None:
        listed = ", ".join(map(repr, rough)) or "none"
        raise SettingError(f"contact is missing: those with friction are {listed}")
    solution.contact(contact)  # says which there are
    if contact not in rough:
        raise SettingError(
            f"contact {contact!r} has no friction: those with friction are {', '.join(map(repr, rough))}"
        )
    return contact


def _frictions(solution: Solution, name: str, tangents: int) -> tuple[float, float]:
    """Return the coefficients of friction along both tangents, as they were in the run."""
    k = solution.system.contact_names.index(name)
    mu = float(solution.system.laws(solution.parameters or None)[k][1])
    if tangents == 1 or solution._units is None:
        return mu, mu
    first = next(j for j, (one, _) in enumerate(solution.rows) if one == name)
    units = solution._units[first : first + 3] / solution._units[first]
    return mu * float(units[1]), mu * float(units[2])


def _impulses(solution: Solution, name: str, rows: int) -> np.ndarray:
    mine = solution.events[(solution.events["contact"] == name) & np.isin(solution.events["kind"], ATOMS)]
    points = mine["impulse"][:, :rows]
    points = points[points[:, 0] > 0.0]
    if len(points) == 0:
        raise SettingError(f"contact {name!r} has no impacts in this run: ask for what='force'")
    return points


def _forces(solution: Solution, columns: list[int]) -> np.ndarray:
    """Return the lasting forces of a contact along the run, nan where it is open."""

    def values(t: np.ndarray, side) -> np.ndarray:
        return solution.force_at(t, side)[:, columns]

    if len(solution.t) < 2:
        raise SettingError("the run has no steps to draw")
    left, right = values(solution.t, "-"), values(solution.t, "+")
    curve = Curve(solution.t, left, right)
    if has_dense_output(solution):
        curve = with_points(curve, _where_it_bends(solution, curve, values), values)
    made = np.stack([curve.left, curve.right], axis=1).reshape(-1, len(columns))
    carries = made[:, 0] > 1e-12 * np.max(made[:, 0], initial=0.0)
    if not carries.any():
        raise SettingError("the contact carries no lasting force in this run: ask for what='impulse'")
    return np.where(carries[:, None], made, np.nan)


def _where_it_bends(solution: Solution, nodes: Curve, values) -> np.ndarray:
    """Return times between nodes at which the hodograph needs points: in the plane of two forces, or of each pair."""
    rows = nodes.left.shape[1]
    found = [np.zeros(0)]
    for j in range(1, rows):
        pair = Curve(nodes.t, nodes.left[:, [0, j]], nodes.right[:, [0, j]])

        def two(t, side, j=j):
            return values(t, side)[:, [0, j]]

        found.append(between(solution, pair, two, off_the_chord))
    return np.unique(np.concatenate(found))
