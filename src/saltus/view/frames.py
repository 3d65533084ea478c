"""Where contacts of a mechanism act: point, normal and tangent of each, from its rows in the equations of motion.

A row of W holds, for a body, the direction n in which the contact pushes it and the moment arm x n about its centre of
mass. Two rows, normal and tangential, fix the arm. Without friction there is one line of action: the point is where it
leaves the outline of the body against the push.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.compile.failure import failures_raised
from saltus.compile.seam import ready, row_of, tail, unit
from saltus.compile.types import MODEL_RECORD, A, I
from saltus.mechanics.scene import Outline, Scene
from saltus.reaction.look import spread_row
from saltus.results.body import poses_of

if TYPE_CHECKING:
    from saltus.solution import Solution

FRAME_SIZE = 6  # numbers of a frame: point in the frame of the body (2), normal and tangent in the fixed frame (2 each)
FLOATS_AT_ONCE = 1 << 22
TURNS_ONLY = 1e-9  # of a direction: a row that pushes less than this turns the body only


def contact_bodies(scene: Scene) -> dict[str, tuple[int, Any]]:
    """Return the body on which each contact is drawn, and the joint or pair that has the contact."""
    made: dict[str, tuple[int, Any]] = {}
    for record in (*scene.joints, *scene.pairs):
        # the one that has the corner, pin or circle which touches: second of a joint, first of a pair
        order = reversed(record.bodies) if hasattr(record, "anchors") else record.bodies
        moving = [one for one in order if one >= 0 and scene.body(one).size == 3]
        for contact in record.contacts:
            made[contact] = (moving[0] if moving else -1, record)
    return made


def frames_at(solution: Solution, t: np.ndarray) -> np.ndarray:
    """Return the frames of all contacts of a mechanism at times (times, contacts, 6); zeros where there is none."""
    scene: Any = solution.system.scene
    names, rows = solution.system.contact_names, solution.rows
    normal_row = {name: next(j for j, row in enumerate(rows) if row[0] == name) for name in names}
    slip_row = {name: j for j, (name, axis) in enumerate(rows) if axis == "T"}
    q = solution(t).q
    made = np.zeros((len(t), len(names), FRAME_SIZE))
    bodies = contact_bodies(scene)
    most = max(1, FLOATS_AT_ONCE // max(1, len(rows) * solution.v.shape[1]))
    for first in range(0, len(t), most):
        part = slice(first, first + most)
        W = _rows_at(solution, t[part], q[part])
        for c, name in enumerate(names):
            body, record = bodies.get(name, (-1, None))
            if body < 0:
                continue
            own = scene.body(body)
            push = W[:, normal_row[name], own.first : own.first + 3]
            slip = W[:, slip_row[name], own.first : own.first + 3] if name in slip_row else None
            made[part, c] = _frames(push, slip, poses_of(own, q[part])[:, 2], _surface(scene, body, record))
    return made


def _frames(push: np.ndarray, slip: np.ndarray | None, angle: np.ndarray, surface: Any) -> np.ndarray:
    """Return frames of one contact from its rows on one body (times, 3): direction and moment."""
    n, length = push[:, :2], np.hypot(push[:, 0], push[:, 1])
    turns_only = length < TURNS_ONLY * max(1.0, float(np.max(np.abs(push), initial=0.0)))
    scale = np.where(turns_only, 1.0, length)
    n, moment = n / scale[:, None], push[:, 2] / scale
    tangent = np.column_stack([n[:, 1], -n[:, 0]])
    arm = np.column_stack([-n[:, 1], n[:, 0]]) * -moment[:, None]  # foot of the line of action
    if slip is not None and not np.any(np.hypot(slip[:, 0], slip[:, 1]) < TURNS_ONLY):
        along = np.hypot(slip[:, 0], slip[:, 1])
        tangent, twist = slip[:, :2] / along[:, None], slip[:, 2] / along
        area = n[:, 0] * tangent[:, 1] - n[:, 1] * tangent[:, 0]
        area = np.where(np.abs(area) < TURNS_ONLY, 1.0, area)
        # arm x n = moment and arm x tangent = twist
        arm = (twist[:, None] * n - moment[:, None] * tangent) / area[:, None]
    elif surface is not None:
        arm = arm + _reach(arm, n, angle, surface)[:, None] * n
    c, s = np.cos(angle), np.sin(angle)
    local = np.column_stack([c * arm[:, 0] + s * arm[:, 1], c * arm[:, 1] - s * arm[:, 0]])
    made = np.column_stack([local, n, tangent])
    made[turns_only] = 0.0
    return made


def _surface(scene: Scene, body: int, record: Any) -> tuple[np.ndarray, bool] | None:
    """Return the closed outline on which a contact of a body may lie, and whether the body is inside of it."""
    own = scene.body(body)
    side = record.bodies.index(body)
    if hasattr(record, "anchors"):  # the pin of a joint
        if record.radius <= 0.0:
            return None
        centre = np.array(record.anchors[side])
        return _circle(centre, record.radius + (record.clearance if side == 0 else 0.0)), side == 1
    if record.outlines[side] >= len(own.outlines):
        return None
    outline: Outline = own.outlines[record.outlines[side]]
    points = np.array(outline.points, dtype=float)
    if outline.kind == "circle":
        return _circle(points[0], outline.radius), outline.solid
    if outline.kind == "capsule":
        along = (points[1] - points[0]) / max(float(np.hypot(*(points[1] - points[0]))), 1e-300)
        across = outline.radius * np.array([-along[1], along[0]])
        return np.array([points[0] - across, points[1] - across, points[1] + across, points[0] + across]), outline.solid
    return points, outline.solid


def _circle(centre: np.ndarray, radius: float) -> np.ndarray:
    turn = np.linspace(0.0, 2.0 * np.pi, 96, endpoint=False)
    return centre + radius * np.column_stack([np.cos(turn), np.sin(turn)])


def _reach(arm: np.ndarray, n: np.ndarray, angle: np.ndarray, surface: tuple[np.ndarray, bool]) -> np.ndarray:
    """Return how far along n from the foot the line of action meets the outline: behind the push of a solid body."""
    points, solid = surface
    c, s = np.cos(angle), np.sin(angle)
    origin = np.column_stack([c * arm[:, 0] + s * arm[:, 1], c * arm[:, 1] - s * arm[:, 0]])
    way = np.column_stack([c * n[:, 0] + s * n[:, 1], c * n[:, 1] - s * n[:, 0]])
    rel = points[None] - origin[:, None]
    side = way[:, None, 0] * rel[..., 1] - way[:, None, 1] * rel[..., 0]
    along = way[:, None, 0] * rel[..., 0] + way[:, None, 1] * rel[..., 1]
    after, ahead = np.roll(side, -1, axis=1), np.roll(along, -1, axis=1)
    share = side / np.where(side == after, 1.0, side - after)
    met = np.where((side * after <= 0.0) & (side != after), along + share * (ahead - along), np.nan)
    found = np.isfinite(met).any(axis=1)
    fill = np.inf if solid else -np.inf
    met = np.where(np.isfinite(met), met, fill)
    return np.where(found, met.min(axis=1) if solid else met.max(axis=1), 0.0)


def _rows_at(solution: Solution, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the rows of all contacts in states (times, rows, nv)."""
    model: Any = solution._model
    rows, nv = len(solution.rows), solution.v.shape[1]
    made = np.zeros((len(t), rows, nv))
    W, w = np.empty(int(model.layout.nw)), np.empty(int(model.layout.nr))
    with failures_raised(called=model.calls_python):
        ready(contact_rows)(model.units, rows, t.copy(), q.flatten(), W, w, made.reshape(-1))
    return made


@unit(I(MODEL_RECORD, I, A, A, A, A, A), entry=True)
def contact_rows(model, rows, t, q, W, w, out):
    """Add every contact row of W in every state to its place in out; q and out are flat."""
    nq, nv = model.layout.nq, model.layout.nv
    for k in range(t.shape[0]):
        model.kinematics(t[k], row_of(q, k, nq), model.par, W, w)
        for i in range(rows):
            spread_row(model.layout, W, i, 1.0, tail(out, (k * rows + i) * nv))
    return 0
