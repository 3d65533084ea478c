"""One joint of a mechanism in a run, ideal or with clearance alike: its force and torque, its play, its share of time.

The force of a joint is what its rows and contacts do to its second body b, as a generalised force W^T r: (f_x, f_y) [N]
and a torque about the centre of mass, which is moved to the joint. So a pin of two rows and a journal that presses and
rubs answer the same question.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.compile.failure import failures_raised
from saltus.compile.seam import ready, row_of, unit
from saltus.compile.types import MODEL_RECORD, A, I
from saltus.errors import SettingError
from saltus.reaction.look import spread_row
from saltus.results.body import places_of, poses_of, scene_of
from saltus.results.contact import ContactResult, share_of_time
from saltus.results.instants import loaded

if TYPE_CHECKING:
    from saltus.mechanics.scene import SceneJoint
    from saltus.results.events import EventTable
    from saltus.results.records import Side
    from saltus.solution import Solution


class JointResult:
    """What a joint did in a run; its frame is that of its first body, turned by `angle` of the joint.

    Attributes
    ----------
    name, kind, clearance [m]
        Of the joint; an ideal one has no clearance.
    t
        The kept times [s].
    """

    def __init__(self, solution: Solution, which: str):
        self._solution, self._scene = solution, scene_of(solution)
        self._record: SceneJoint = self._scene.joint(which)
        self.name, self.kind, self.clearance = self._record.name, self._record.kind, self._record.clearance
        self.t = solution.t

    def __repr__(self) -> str:
        a, b = (self._scene.body(one).name for one in self._record.bodies)
        how = f"clearance {self.clearance:g} m" if self.clearance > 0.0 else "ideal"
        return f"JointResult({self.name!r}: {self.kind} of {a!r} and {b!r}, {how})"

    @property
    def contacts(self) -> tuple[ContactResult, ...]:
        """Its contacts: those of its clearance, then stops."""
        return tuple(ContactResult(self._solution, name) for name in self._record.contacts)

    @property
    def events(self) -> EventTable:
        """What happened at its contacts."""
        return self._solution.events.of(self.name)

    @functools.cached_property
    def share(self) -> float:
        """Share of the time in which it transmits a lasting force by contact, from 0 to 1; 1 for an ideal joint."""
        if self._record.rows and self.clearance == 0.0:
            return 1.0
        return share_of_time(self._solution, self._record.contacts)

    @functools.cached_property
    def force(self) -> np.ndarray:
        """Force on its second body at the kept times, along and across its frame (n + 1, 2) [N]; see `force_at`."""
        return self.force_at(self.t)

    @functools.cached_property
    def torque(self) -> np.ndarray:
        """Torque on its second body about the joint at the kept times (n + 1,) [N m]."""
        return self.torque_at(self.t)

    @property
    def eccentricity(self) -> np.ndarray:
        """Way from its point on the first body to that on the second, in its frame, at the kept times (n + 1, 2) [m].

        The orbit of a journal in its bearing; zero up to the tolerance in an ideal pin, the way along its axis in a
        prismatic joint.
        """
        return self._eccentricity(self._solution.q)

    def force_at(self, t, side: Side = "+") -> np.ndarray:
        """Return the force on its second body at any time, or at many, along and across its frame [N].

        Lasting forces, as `Solution.force_at` and `joint_force_at` have them: impacts of its contacts are not in it.
        """
        made = self._forces(t, side)[:, :2]
        return made[0] if np.ndim(t) == 0 else made

    def torque_at(self, t, side: Side = "+"):
        """Return the torque on its second body about the joint at any time, or at many [N m]."""
        made = self._forces(t, side)[:, 2]
        return made[0] if np.ndim(t) == 0 else made

    def eccentricity_at(self, t, side: Side = "+") -> np.ndarray:
        """Return the way between its two points at any time, or at many, in its frame [m]."""
        made = self._eccentricity(self._solution(np.atleast_1d(np.asarray(t, dtype=float)), side).q)
        return made[0] if np.ndim(t) == 0 else made

    def _eccentricity(self, q: np.ndarray) -> np.ndarray:
        first, second = (poses_of(self._scene.body(one), q) for one in self._record.bodies)
        way = places_of(second, self._record.anchors[1]) - places_of(first, self._record.anchors[0])
        return _in_frame(way, first[:, 2] + self._record.angle)

    def _forces(self, t, side: Side) -> np.ndarray:
        """Return force in the frame and torque about the joint at times (times, 3)."""
        solution, times = self._solution, np.atleast_1d(np.asarray(t, dtype=float))
        if loaded(solution):
            raise SettingError(
                "a loaded solution has no model to tell forces of joints in a frame: solve, or ask before saving"
            )
        body, sign = self._record.bodies[1], 1.0
        if body < 0:  # what the ground feels is what the other body does not
            body, sign = self._record.bodies[0], -1.0
        record, q = self._scene.body(body), solution(times, side).q
        if record.size != 3:
            raise SettingError(
                f"joint {self.name!r} ends on {record.name!r}, which runs on a line: its forces have no frame"
            )
        acting = self._generalized(times, q, side)[:, record.first : record.first + 3] * sign
        poses = {one: poses_of(self._scene.body(one), q) for one in self._record.bodies}
        # two bodies meet at the second point: there the torque is taken
        place = places_of(poses[self._record.bodies[1]], self._record.anchors[1])
        arm = place - poses[body][:, :2]
        torque = acting[:, 2] - (arm[:, 0] * acting[:, 1] - arm[:, 1] * acting[:, 0])
        turn = poses[self._record.bodies[0]][:, 2] + self._record.angle
        return np.column_stack([_in_frame(acting[:, :2], turn), torque])

    def _generalized(self, t: np.ndarray, q: np.ndarray, side: Side) -> np.ndarray:
        """Return the generalised forces of the rows and contacts of the joint at times (times, nv)."""
        solution = self._solution
        model: Any = solution._model
        r = np.zeros((len(t), solution._all_rows))
        first = len(solution.rows)
        mine = [j for j, (name, _) in enumerate(solution.rows) if name in self._record.contacts]
        if mine:
            r[:, mine] = solution.force_at(t, side)[:, mine]
        if self._record.rows:
            joined = solution.joint_force_at(t, side)
            for begin, end in self._row_places():
                r[:, first + begin : first + end] = joined[:, begin:end]
        if solution._units is not None:
            r /= solution._units  # kernels work in the units of laws
        layout = model.layout
        made, W, w = np.zeros((len(t), solution.v.shape[1])), np.empty(int(layout.nw)), np.empty(int(layout.nr))
        with failures_raised(called=model.calls_python):
            ready(generalized_forces)(model.units, t.copy(), q.flatten(), r.flatten(), W, w, made.reshape(-1))
        return made

    def _row_places(self) -> list[tuple[int, int]]:
        """Return begin and end of its rows among all joint rows."""
        sizes = dict(itertools.chain.from_iterable(joint.rows for joint in self._scene.joints))
        ends = np.cumsum([sizes[name] for name in self._solution.system.joint_names])
        begins = dict(zip(self._solution.system.joint_names, [0, *ends[:-1].tolist()], strict=True))
        return [(begins[name], begins[name] + size) for name, size in self._record.rows]


def _in_frame(vectors: np.ndarray, turn: np.ndarray) -> np.ndarray:
    c, s = np.cos(turn), np.sin(turn)
    return np.column_stack([c * vectors[:, 0] + s * vectors[:, 1], c * vectors[:, 1] - s * vectors[:, 0]])


@unit(I(MODEL_RECORD, A, A, A, A, A, A), entry=True)
def generalized_forces(model, t, q, r, W, w, out):
    """Add W^T r of all rows in every state; q, r and out are flat."""
    nq, nv, nr = model.layout.nq, model.layout.nv, model.layout.nr
    for k in range(t.shape[0]):
        model.kinematics(t[k], row_of(q, k, nq), model.par, W, w)
        for i in range(nr):
            spread_row(model.layout, W, i, r[k * nr + i], row_of(out, k, nv))
    return 0
