"""A mechanism drawn at several times into one picture, by matplotlib; later times are stronger."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError
from saltus.family import GROUND
from saltus.mechanics.scene import Outline, Scene, SceneBody
from saltus.plot.page import COLOURS, Width, figure_of, looks, place, saved
from saltus.results.body import places_of, poses_of, scene_of
from saltus.view.content import frames_of
from saltus.view.picture import picture_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from saltus.solution import Solution

ROUND = 48  # points of a circle
MOST_SHOTS = 200
ZIGZAG = np.array([0.0, 0.2, *np.linspace(0.25, 0.75, 9), 0.8, 1.0])  # along a spring
SWING = np.array([0.0, 0.0, *np.array([1, -1, 1, -1, 1, -1, 1, -1, 1]), 0.0, 0.0])  # and across it


def strobe(
    solution: Solution,
    times: Any = None,
    *,
    axes: Axes | None = None,
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> Axes:
    """Draw a mechanism at some times into one picture, later ones stronger.

    Parameters
    ----------
    solution
        A run of a mechanism (`saltus.mechanics`).
    times
        Times [s]; five over the run by default.
    axes, width, path
        Where to draw; width of a new figure; file to write.

    Returns
    -------
    matplotlib.axes.Axes
        With equal scales.
    """
    scene = _shaped(solution, scene_of(solution))
    t = _times(solution, times)
    q = solution(t).q
    shown = ", ".join(f"{one:.4g}" for one in t) if len(t) <= 6 else f"{t[0]:.4g} to {t[-1]:.4g}, {len(t)} times"
    title = f"{(solution.name or scene.name).replace('_', ' ')}  \u00b7  t = {shown} s"
    with looks(width):
        axes = place(axes, width, 5.5, title)
        picture = _Picture(axes, scene)
        for k in range(len(t)):
            picture.draw(q[k : k + 1], 0.25 + 0.75 * (k + 1) / len(t) if len(t) > 1 else 1.0, last=k == len(t) - 1)
        picture.finish()
        saved(figure_of(axes), path)
    return axes


def _shaped(solution: Solution, scene: Scene) -> Scene:
    """Return the scene with bodies that have no outline, and guides, as the viewer draws them."""
    picture = picture_of(solution, scene, frames_of(solution))
    moving = [body for body in scene.bodies if body.number != GROUND]
    drawn = {body.number: one.outlines for body, one in zip(moving, picture.bodies, strict=True)}
    made = []
    for body in scene.bodies:
        if body.number == GROUND:
            made.append(dataclasses.replace(body, outlines=tuple(picture.fixed)))
        elif body.outlines or not any(one.kind == "polygon" for one in drawn[body.number]):
            made.append(body)
        else:
            made.append(dataclasses.replace(body, outlines=drawn[body.number]))
    return dataclasses.replace(scene, bodies=tuple(made))


def _times(solution: Solution, times: Any) -> np.ndarray:
    if times is None:
        return np.linspace(solution.t[0], solution.t[-1], 5)
    try:
        made = np.atleast_1d(np.asarray(times, dtype=float))
    except (TypeError, ValueError) as error:
        raise SettingError(f"times is {times!r}: give a time or a list of times [s]") from error
    if made.ndim != 1 or not 0 < len(made) <= MOST_SHOTS:
        raise SettingError(f"times has the shape {made.shape}: give 1 to {MOST_SHOTS} times [s]")
    return np.sort(made)


class _Picture:
    """The axes of a picture, the scene, and how far what was drawn reaches."""

    def __init__(self, axes: Axes, scene: Scene):
        self.axes, self.scene, self.seen = axes, scene, [np.zeros((0, 2))]
        moving = [body for body in scene.bodies if body.number != GROUND and body.size == 3]
        self.colours = {body.number: body.colour or COLOURS[k % len(COLOURS)] for k, body in enumerate(moving)}
        self.arms = {body.number: self._arms(body) for body in moving}
        self.far: list[np.ndarray] = []
        self.flats: list[tuple[np.ndarray, str, float, str | None]] = []  # planes of bodies: of them a piece is drawn

    def _arms(self, body: SceneBody) -> list[Any]:
        """Return what stands for a body without outline: where its joints and forces act."""
        if body.outlines:
            return []
        records = (*self.scene.joints, *self.scene.forces)
        found = [at for one in records for who, at in zip(one.bodies, one.anchors, strict=False) if who == body.number]
        return list(dict.fromkeys(found))

    def draw(self, q: np.ndarray, alpha: float, last: bool) -> None:
        poses = {body.number: poses_of(body, q) for body in self.scene.bodies}
        for body in self.scene.bodies:
            if body.number == GROUND:
                if last:
                    for outline in body.outlines:
                        self._outline(outline, poses[GROUND], "#555555", 1.0, body)
            elif body.size == 3:
                for outline in body.outlines:
                    self._outline(outline, poses[body.number], self.colours[body.number], alpha, body, last)
                self._skeleton(body, poses[body.number], alpha, last)
            elif last:
                self.axes.plot(*poses[body.number][0, :2], ".", color="#777777", markersize=4.0, zorder=4)
        for force in self.scene.forces:
            if len(force.anchors) >= 2 and (last or alpha > 0.6):
                ends = [
                    places_of(poses[one], at)[0] for one, at in zip(force.bodies[:2], force.anchors[:2], strict=True)
                ]
                self._spring(*ends, alpha)
        for joint in self.scene.joints:
            if joint.kind in ("revolute", "slot", "distance"):
                place = places_of(poses[joint.bodies[1]], joint.anchors[1])[0]
                fixed = GROUND in joint.bodies
                self.axes.plot(*place, "^" if fixed else "o", color="#222222", markersize=5.0 if fixed else 3.5,
                               markerfacecolor="white", alpha=alpha, zorder=6)  # fmt: skip
                self.seen.append(place[None])

    def _skeleton(self, body: SceneBody, pose: np.ndarray, alpha: float, last: bool) -> None:
        arms = self.arms[body.number]
        label = body.name if last else None
        colour = self.colours[body.number]
        if arms:
            places = np.array([places_of(pose, at)[0] for at in arms])
            centre = places.mean(axis=0)
            order = np.argsort(np.arctan2(*(places - centre).T[::-1]))
            line = places[[*order, order[0]]] if len(places) > 2 else places
            self.axes.plot(
                *line.T, color=colour, linewidth=2.2, alpha=alpha, label=label, zorder=3, solid_capstyle="round"
            )
            self.seen.append(places)
        elif len(body.outlines) > 1:  # parts of one body belong together
            for outline in body.outlines:
                ends = np.array([pose[0, :2], np.mean([places_of(pose, at)[0] for at in outline.points], axis=0)])
                self.axes.plot(*ends.T, color=colour, linewidth=1.2, alpha=0.7 * alpha, zorder=2)
        elif not body.outlines:
            self.axes.plot(*pose[0, :2], "s", color=colour, alpha=alpha, label=label, zorder=3)
            self.seen.append(pose[:, :2])

    def _outline(
        self, outline: Outline, pose: np.ndarray, colour: str, alpha: float, body: SceneBody, last: bool = True
    ) -> None:
        points = np.array([places_of(pose, at)[0] for at in outline.points])
        if outline.kind == "line":
            if body.number == GROUND:
                self.far.append(points)
            else:
                named = body.name if last and all(one.kind == "line" for one in body.outlines) else None
                self.flats.append((points, colour, alpha, named))
                self.seen.append(points.mean(axis=0)[None])
            return
        if outline.kind != "polygon":
            points = _rounded(points, outline.radius)
        first = next(one for one in body.outlines if one.kind != "line")
        label = body.name if last and body.number != GROUND and outline is first else None
        if outline.kind == "capsule" and outline.radius == 0.0:
            self.axes.plot(*points.T, color=colour, linewidth=2.2, alpha=alpha, label=label, zorder=3)
        else:
            filled = outline.solid
            self.axes.fill(*points.T, facecolor=colour if filled else "none", alpha=0.28 * alpha, zorder=2)
            closed = np.concatenate([points, points[:1]])
            self.axes.plot(*closed.T, color=colour, linewidth=1.1, alpha=alpha, label=label, zorder=3)
        self.seen.append(points)
        if outline.kind == "circle":  # or nobody sees it turn
            centre = places_of(pose, outline.points[0])[0]
            spoke = outline.radius * np.array([np.cos(pose[0, 2]), np.sin(pose[0, 2])])
            self.axes.plot(*np.array([centre, centre + spoke]).T, color=colour, linewidth=0.8, alpha=alpha, zorder=3)

    def _spring(self, start: np.ndarray, end: np.ndarray, alpha: float) -> None:
        way = end - start
        across = 0.12 * np.array([-way[1], way[0]])
        line = start + ZIGZAG[:, None] * way + 0.5 * SWING[:, None] * across
        self.axes.plot(*line.T, color="#888888", linewidth=0.8, alpha=0.8 * alpha, zorder=1)
        self.seen.append(np.array([start, end]))

    def finish(self) -> None:
        places = np.concatenate(self.seen)
        low, high = places.min(axis=0), places.max(axis=0)
        room = 0.08 * max(float((high - low).max()), 1e-6)
        low, high = low - room, high + room
        for start, end in self.far:
            self._ground_line(start, end, room)
        for points, colour, alpha, label in self.flats:
            way = (points[1] - points[0]) / np.hypot(*(points[1] - points[0]))
            piece = points.mean(axis=0) + room * np.array([-1.0, 1.0])[:, None] * way
            self.axes.plot(*piece.T, color=colour, linewidth=2.2, alpha=alpha, label=label, zorder=3)
        self.axes.set_aspect("equal")
        self.axes.set_xlim(low[0], high[0])
        self.axes.set_ylim(low[1], high[1])
        self.axes.set_xlabel("x [m]")
        self.axes.set_ylabel("y [m]")
        handles, labels = self.axes.get_legend_handles_labels()
        if 0 < len(labels) <= 12:
            self.axes.legend(
                handles, labels, loc="upper left", bbox_to_anchor=(1.005, 1.0), frameon=False, fontsize=8.0
            )

    def _ground_line(self, start: np.ndarray, end: np.ndarray, room: float) -> None:
        """Draw a plane: its surface, and a shade where it is solid, to the right of its direction."""
        way = end - start
        down = np.array([way[1], -way[0]]) * min(1.0, room / max(float(np.hypot(*way)), 1e-300))
        self.axes.plot(*np.array([start, end]).T, color="#555555", linewidth=1.2, zorder=1)
        solid = np.array([start, end, end + down, start + down])
        self.axes.fill(*solid.T, facecolor="#DDDDDD", alpha=0.5, zorder=0)


def _rounded(points: np.ndarray, radius: float) -> np.ndarray:
    """Return the outline of a circle (one point) or of a bar with rounded ends (two points)."""
    if len(points) == 2 and radius == 0.0:
        return points
    start, end = points[0], points[-1]
    turn = np.arctan2(*(end - start)[::-1]) if len(points) == 2 else 0.0
    half = np.linspace(-np.pi / 2.0, np.pi / 2.0, ROUND // 2)
    caps = [(end, turn + half), (start, turn + np.pi + half)]
    return np.concatenate([at + radius * np.column_stack([np.cos(a), np.sin(a)]) for at, a in caps])
