"""The scene alone, drawn by matplotlib: what a film shows where there is no Chromium."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.results.body import places_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from saltus.mechanics.scene import Outline
    from saltus.view.content import Seen

BODY_COLOURS = ("#4477aa", "#aa3377", "#3aa6c4", "#8a6fc0", "#b08d28", "#6b7a8f", "#5566cc", "#c25b8a")
ROUND = 48  # points of a circle
EDGES = [(a, b) for a, b in product(range(8), repeat=2) if a < b and bin(a ^ b).count("1") == 1]  # of a box


class Drawing:
    """One picture that is drawn again for every time."""

    def __init__(self, axes: Axes, seen: Seen):
        self.axes, self.seen = axes, seen
        picture, solution = seen.picture, seen.solution
        poses = picture.motion.poses(solution.t, solution.q)
        flat = picture.dimension == 2
        x, y = poses[..., 0], poses[..., 1 if flat else 2]  # in space it is seen along y
        from saltus.view.keys import reaches

        reach = float(np.max(reaches(picture), initial=0.0))
        room = 0.05 * seen.size + reach
        axes.set_aspect("equal", adjustable="box")
        axes.set_xlim(x.min() - room, x.max() + room)
        axes.set_ylim(y.min() - room, y.max() + room)
        axes.set_axis_off()
        for outline in picture.fixed:
            self._outline(outline, np.zeros(3), "#8b95a1", axes)
        for height in picture.floors:
            axes.axhline(height, color="#8b95a1", linewidth=1.2)
        self.moving: list[Any] = []
        self.title = axes.set_title("", loc="left", fontsize=11)

    def at(self, t: float) -> None:
        """Draw the scene at a time [s]."""
        for artist in self.moving:
            artist.remove()
        self.moving = []
        picture, solution = self.seen.picture, self.seen.solution
        poses = picture.motion.poses(np.array([t]), solution(np.array([t])).q)[0]
        for b, body in enumerate(picture.bodies):
            colour = body.colour or BODY_COLOURS[b % len(BODY_COLOURS)]
            if picture.dimension == 3:
                self._solids(body, poses[b], colour)
                continue
            for outline in body.outlines:
                self.moving += self._outline(outline, poses[b], colour, self.axes)
            if not body.outlines:
                self.moving += self.axes.plot(*poses[b][:2], ".", color=colour)
        for first, second in picture.springs:
            ends = np.array([self._spot(one, poses) for one in (first, second)])
            self.moving += self.axes.plot(*ends.T, color="#8b95a1", linewidth=1.0, linestyle="--")
        self.title.set_text(f"{(solution.name or '').replace('_', ' ')}   t = {t:.9g} s")

    def _spot(self, spot: Any, poses: np.ndarray) -> np.ndarray:
        return np.array(spot.at) if spot.body < 0 else places_of(poses[spot.body][None], spot.at)[0]

    def _outline(self, outline: Outline, pose: np.ndarray, colour: str, axes: Axes) -> list[Any]:
        points = np.array([places_of(pose[None], at)[0] for at in outline.points])
        if outline.kind == "circle":
            turn = pose[2] + np.linspace(0.0, 2.0 * np.pi, ROUND)
            points = points[0] + outline.radius * np.column_stack([np.cos(turn), np.sin(turn)])
        if outline.kind in ("line", "capsule"):
            return list(axes.plot(*points.T, color=colour, linewidth=1.5 if outline.kind == "line" else 5.0, alpha=0.8))
        made: list[Any] = list(axes.fill(*points.T, facecolor=colour if outline.solid else "none", alpha=0.3))
        return made + list(axes.plot(*np.concatenate([points, points[:1]]).T, color=colour, linewidth=1.4))

    def _solids(self, body: Any, pose: np.ndarray, colour: str) -> None:
        w, *axis = pose[3:] / np.linalg.norm(pose[3:])
        axis = np.array(axis)
        for solid in body.solids:
            corners = np.array(list(product((-0.5, 0.5), repeat=3))) * np.array(solid.size)
            if solid.kind == "mesh":
                corners = np.array(solid.points)
            corners = corners + np.array(solid.centre)
            turned = corners + 2.0 * np.cross(axis, np.cross(axis, corners) + w * corners) + pose[:3]
            if solid.kind == "sphere":
                turn = np.linspace(0.0, 2.0 * np.pi, ROUND)
                self.moving += self.axes.plot(pose[0] + 0.5 * solid.size[0] * np.cos(turn),
                                              pose[2] + 0.5 * solid.size[0] * np.sin(turn), color=colour)  # fmt: skip
                continue
            edges = EDGES if solid.kind != "mesh" else [(a, b) for a, b, _ in solid.triangles]
            for a, b in edges:
                self.moving += self.axes.plot(*turned[[a, b]][:, [0, 2]].T, color=colour, linewidth=1.4)
