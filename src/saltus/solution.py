"""Solution: everything that happened in a run, read-only, callable in time."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus.certificate import FOUND, look_inside
from saltus.compile.failure import failures_raised
from saltus.compile.seam import ready
from saltus.errors import FunctionError, SettingError
from saltus.memory.record import RECORDED
from saltus.results.another_grid import at_times
from saltus.results.events import EventTable, event_table
from saltus.results.instants import EnergyAt, coordinate_rates, energy_at, gap_at, gaps_of, kinetic_energies
from saltus.results.reactions import (
    atoms_of,
    forces_at,
    impacts_of,
    impulses_at,
    lasting_of,
    put_on_cones,
    reacted,
    total_of,
)
from saltus.results.records import Asked, Energy, Impacts, NodeValues, Places, Side, StateAt, frozen, read_only
from saltus.schemes.traits import Accelerated, Windowed, traits_of
from saltus.status import Status
from saltus.system import System

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from saltus.build.model import AbsentModel, CompiledModel
    from saltus.contact import ContactProblem
    from saltus.event import Event
    from saltus.io.stored import StoredSystem
    from saltus.problem import Exact, Problem
    from saltus.results.body import BodyResult
    from saltus.results.contact import ContactResult
    from saltus.results.joint import JointResult
    from saltus.results.sample import Samples
    from saltus.results.spectrum import Spectrum
    from saltus.schemes.plan import SchemeLike
    from saltus.verification import Verification
    from saltus.view.sketch import Sketch
    from saltus.view.view import View


BYTES_AT_ONCE = 1 << 22  # floats of one array that a scheme interpolates at once, so that memory stays flat


@dataclasses.dataclass(frozen=True, eq=False)
class Solution:
    """The result of `solve`.

    Attributes
    ----------
    t
        Kept times [s], shape (n + 1,).
    q, v
        Positions (n + 1, nq) and velocities (n + 1, nv), right limits.
    events
        Structured table (`EventTable`): t, contact, kind ("impact", "closing", "release", "stick", "slip", "reversal",
        "painleve", "zeno", "event"), u_minus, u_plus, impulse, each with (N, T1, T2), and count, the number of impacts
        that the row stands for. An "event" is one of the user's; its contact is the name of the `Event`.
    work
        Counts: "f" force evaluations, "jac" Jacobians, "steps", "rejected", "iterations", "contact_sweeps".
    status, message
        How it ended; `success` is True only when the end of the span was reached or a terminal event ended the run.
    event_names
        Names of the user's events.
    verification
        What a second run says, where `solve(..., verify=True)` made one; see `verify`.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    events: EventTable  # any structured table in, an EventTable afterwards
    work: dict[str, int]
    status: Status
    message: str
    system: System | StoredSystem
    scheme: Any
    rows: tuple[tuple[str, str], ...]
    exact: Exact | None
    name: str | None
    _model: CompiledModel | AbsentModel | NodeValues = dataclasses.field(repr=False)
    _ledger: np.ndarray = dataclasses.field(repr=False)
    _extra: np.ndarray | None = dataclasses.field(repr=False)
    _reactions: np.ndarray = dataclasses.field(repr=False)
    _dense: np.ndarray = dataclasses.field(repr=False)
    _before: np.ndarray = dataclasses.field(repr=False)
    _forces: np.ndarray | None = dataclasses.field(default=None, repr=False)  # (sides + and -, n + 1, rows) of `t_eval`
    event_names: tuple[str, ...] = ()
    switches: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=[("t", float), ("name", "U1")]))
    verification: Verification | None = dataclasses.field(default=None, repr=False)
    _asked: Asked | None = dataclasses.field(default=None, repr=False)
    _certificate: np.ndarray | None = dataclasses.field(default=None, repr=False)  # (n + 1, 4), see certificate.py
    _units: np.ndarray | None = dataclasses.field(default=None, repr=False)  # of all rows in dense output; None: all 1

    def __post_init__(self):
        scene: Any = self.system.scene
        records = (*scene.joints, *scene.pairs) if hasattr(scene, "joints") else ()  # a sketch has none
        joints = {one.name: one.contacts for one in records}
        events = event_table(self.events, self.system.contact_names, self.event_names, joints)
        object.__setattr__(self, "events", events)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: the fields, not what was derived from them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Protect the arrays again, because a pickle forgets that they are read-only."""
        self.__dict__.update(state)
        read_only(self)

    @property
    def parameters(self) -> dict[str, float | np.ndarray]:
        """Values of the model's parameters in this run, by name."""
        return {} if self._asked is None else dict(self._asked.parameters)

    @property
    def success(self) -> bool:
        """Whether the run reached the end of its span or a terminal event."""
        return self.status in (Status.OK, Status.TERMINATED)

    def __repr__(self) -> str:
        kinds, counts = np.unique(self.events["kind"], return_counts=True)
        seen = ", ".join(f"{n} {kind}" for kind, n in zip(kinds, counts, strict=True)) or "no events"
        ended = self.message.partition("\n")[0]
        return (
            f"Solution({self.name or self.system.name or 'system'} by {self.scheme.name}: t = {self.t[0]:g} to "
            f"{self.t[-1]:g}, {self.work['steps']} steps, {seen}; {ended})"
        )

    def _repr_html_(self) -> str:
        from saltus.results.html import solution_html

        return solution_html(self)

    # ---- what is stored sparsely, as full arrays

    @functools.cached_property
    def v_minus(self) -> np.ndarray:
        """Left limits of the velocities (n + 1, nv)."""
        made = self.v.copy()
        made[self._reactions[:, 0].astype(int)] = self._reactions[:, 2 : 2 + self.v.shape[1]]
        return frozen(made)

    @functools.cached_property
    def impulse(self) -> np.ndarray:
        """Reaction over each (t_k, t_k+1] (n, rows): per contact N | N, T | N, T1, T2 [N s]."""
        return self._filled(0, len(self.rows))

    @functools.cached_property
    def joint_impulse(self) -> np.ndarray:
        """Reaction of the joints over each (t_k, t_k+1] (n, joint rows) [N s or N m s]."""
        return self._filled(len(self.rows), self._all_rows)

    # ---- the certificate

    @functools.cached_property
    def residual(self) -> np.ndarray:
        """How well the equations of each step are solved (n,), the largest since the kept time before; free of units.

        The larger of `contact_residual` and, for schemes that choose their steps by a tolerance, the defect of the
        equations of motion inside of the steps: h |v_dot - M^-1 (f + W r)| / (1 + largest |v|), the velocity that is
        missed over a step of length h, each component relative to its largest value in the run (plus its scale where
        `scale` is given, in place of 1).
        """
        return frozen(np.maximum(self.contact_residual, self._inside[:, FOUND.defect]))

    @functools.cached_property
    def contact_residual(self) -> np.ndarray:
        """How well the contact problems were solved (n,): scaled natural map, largest since the kept time before."""
        made = np.zeros(len(self.t) - 1)
        reactions = self._reactions[self._reactions[:, 0] > 0.0]  # the start ends no step
        made[reactions[:, 0].astype(int) - 1] = reactions[:, 1]
        return frozen(made)

    @functools.cached_property
    def violation(self) -> np.ndarray:
        """Largest penetration or joint error since the kept time before (n,) [m], inside of steps and at their ends.

        Schemes that locate events hold a closed contact closed: there the distance of a contact that carries a force
        counts as well.
        """
        return frozen(np.maximum(self.end_violation, self._inside[:, FOUND.violation]))

    @property
    def end_violation(self) -> np.ndarray:
        """Largest penetration or joint error at the ends of the steps since the kept time before (n,) [m]."""
        return self._ledger[1:, 0]

    @functools.cached_property
    def admissibility(self) -> np.ndarray:
        """How far contact forces leave the contact law (n,): a contact that pulls, friction outside of its cone.

        max(-r_N, |r_T| - mu r_N, 0), the largest over all contacts and times since the kept time before, relative to
        the largest force that a contact of the run carries, or feels of the other forces. 0 where all forces are
        admissible. Forces are those of `force_at`, before any is put onto its cone.
        """
        load = np.max(self._inside[:, FOUND.load], initial=0.0)
        return frozen(self._inside[:, FOUND.excess] / load if load > 0.0 else np.zeros(len(self.t) - 1))

    @functools.cached_property
    def _inside(self) -> np.ndarray:
        """What the steps hide between their ends (n, 4), see saltus/certificate.py."""
        made = np.zeros((len(self.t) - 1, FOUND.all)) if self._certificate is None else self._certificate[1:].copy()
        if not isinstance(self._model, NodeValues):
            try:
                np.maximum(made, look_inside(self), out=made)
            except FunctionError:
                made[:] = np.nan  # a function of the model fails between the nodes: nothing is known there
        return made

    def _inside_of(self, t: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return q, v, forces in the units of the laws, v_dot and the duration of the piece at times in steps.

        ends: nodes at which the steps end.

        The duration is 0 where nothing follows a tolerance, and in windows and accumulations of impacts, which stand
        for a motion and do not describe it.
        """
        places, chosen = Places(t, np.full(len(t), -1), ends, "+"), np.arange(len(t))
        q, v = np.empty((len(t), self.q.shape[1])), np.empty((len(t), self.v.shape[1]))
        a, duration = np.zeros(v.shape), np.zeros(len(t))
        traits = traits_of(self.scheme)
        scheme: Any = self.scheme
        accelerated = traits.adaptive and isinstance(self.scheme, Accelerated)
        for i, s, h, block in self._steps(places, chosen):
            q[i], v[i] = scheme.interpolate(s, h, self._nodes(ends[i] - 1), self._nodes(ends[i]), block, "+")
            if accelerated:
                a[i], piece, lasts = scheme.acceleration(s, h, block, "+")
                duration[i] = np.where((piece > 0) & traits.locates_events, 0.0, lasts)
        r = reacted(self, places, chosen)[0]
        return q, v, r if self._units is None else r / self._units, a, duration

    @functools.cached_property
    def _velocity_scale(self) -> np.ndarray:
        """What a tolerance is relative to beside the velocities themselves."""
        scale, share = getattr(self.scheme, "scale", None), 1.0
        if getattr(self.scheme, "rtol", None) is not None:
            share = self.scheme.atol / self.scheme.rtol
        if scale is None:
            return np.full(self.v.shape[1], share)
        from saltus.flight.promise import start_of

        position = np.broadcast_to(np.asarray(scale, dtype=float), self.q.shape[1:])
        model: Any = self._model  # a loaded solution has its certificate and never asks
        start = start_of(model, self.t[0], self.q[0].copy(), scale)
        return share * start.moved_by(position) / (self.t[-1] - self.t[0])

    @property
    def step_error(self) -> np.ndarray:
        """Error estimate of schemes that have one (n,), zero otherwise."""
        return np.zeros(len(self.t) - 1) if self._extra is None else self._extra[1:, 0]

    @property
    def step_degree(self) -> np.ndarray:
        """Degree of the interval (n,) of schemes that choose it, order of the error estimate of others, or zero."""
        return np.zeros(len(self.t) - 1) if self._extra is None else self._extra[1:, 1]

    @property
    def step_rejections(self) -> np.ndarray:
        """How many attempts were rejected on the way to each kept time (n,)."""
        if self._extra is None or self._extra.shape[1] < 5:
            return np.zeros(len(self.t) - 1, dtype=int)
        return np.diff(self._extra[:, 4]).astype(int)

    @property
    def windows(self) -> np.ndarray:
        """The intervals [t_a, t_b] (n, 2) [s] over which Moreau's step was made for an impact, (76) of the lecture.

        `AnyOrder` has them, and `Splitting` where it locates impacts in time; other schemes have none.
        """
        ends = np.flatnonzero(np.isin(self.t, self.events["t"][self.events["kind"] == "impact"]))
        ends = ends[ends > 0]
        made = np.empty((len(ends), 2))
        if not isinstance(self.scheme, Windowed):
            return made[:0]
        places = Places(self.t[ends], np.full(len(ends), -1), ends, "-")
        for i, _, h, block in self._steps(places, np.arange(len(ends))):
            made[i, 0] = self.scheme.window_start(block, self.t[ends[i]], h[:, 0])
            made[i, 1] = self.t[ends[i]]
        return made[made[:, 0] < made[:, 1]]

    @property
    def can_refine(self) -> bool:
        """Whether dense output between the nodes is stored, so that `at_times` shows more than the nodes do."""
        return len(self._dense) > 0 and self.every_step and not isinstance(self._model, NodeValues)

    @property
    def every_step(self) -> bool:
        """Whether every step was kept, so that `sol(t)` answers everywhere."""
        return self._extra is None or bool(np.all(self._extra[1:, 3] > 0.0))

    @property
    def _all_rows(self) -> int:
        return self._reactions.shape[1] - 2 - self.v.shape[1] - len(self.system.contacts)

    @property
    def _dissipation(self) -> np.ndarray:
        return self._filled(self._all_rows, self._all_rows + len(self.system.contacts))

    def _filled(self, begin: int, end: int) -> np.ndarray:
        """Return columns of the reaction table for every step, zero where nothing reacted."""
        made = np.zeros((len(self.t) - 1, end - begin))
        first, reactions = 2 + self.v.shape[1], self._reactions[self._reactions[:, 0] > 0.0]  # the start ends no step
        made[reactions[:, 0].astype(int) - 1] = reactions[:, first + begin : first + end]
        return frozen(made)

    # ---- dense output

    def __call__(self, t: ArrayLike, side: Side = "+") -> StateAt:
        """Return the state at any time in the span, or at many; `side` chooses the limit at a jump."""
        places = self._places(t, side)
        q, v = np.empty((len(places.t), self.q.shape[1])), np.empty((len(places.t), self.v.shape[1]))
        stored = places.node >= 0
        if side == "-":  # nodes hold positions behind a reset
            stored &= ~self._may_be_reset[places.node]
        if traits_of(self.scheme).own_limits:  # the jumps of the dense output are not those of the states
            outermost = 0 if side == "-" else len(self.t) - 1
            stored &= (places.node == outermost) | ~self._whole(places.end)
        known, between = np.flatnonzero(stored), np.flatnonzero(~stored)
        nodes = places.node[known]
        q[known], v[known] = self.q[nodes], (self.v if side == "+" else self.v_minus)[nodes]
        for i, s, h, block in self._steps(places, between):
            start, end = self._nodes(places.end[i] - 1), self._nodes(places.end[i])
            q[i], v[i] = self.scheme.interpolate(s, h, start, end, block, side)
        if np.ndim(t) == 0:
            q, v = q[0], v[0]
        return StateAt(np.asarray(t, dtype=float), q, v)

    @functools.cached_property
    def _may_be_reset(self) -> np.ndarray:
        """Tell which nodes end a step with an event of the user, whose dense output knows the state before it."""
        nodes = np.arange(len(self.t))
        return np.isin(self.t, self.events["t"][self.events["kind"] == "event"]) & (nodes > 0) & self._whole(nodes)

    def impulse_at(self, t: ArrayLike, side: Side = "+") -> np.ndarray:
        """Return the measure i(t) accumulated from the start, one column per contact row [N s].

        An impact counts from its own time on, with side "-" after it. A lasting contact force grows as the scheme
        describes it, linearly within a step when it does not.
        """
        made = impulses_at(self, self._places(t, side))[:, : len(self.rows)]
        return made[0] if np.ndim(t) == 0 else made

    def force_at(self, t: ArrayLike, side: Side = "+") -> np.ndarray:
        """Return the contact force r(t) of lasting contacts, one column per contact row [N].

        It is the force that the scheme describes, and its average over the step around t when it describes none.
        `side` chooses the step at a grid point. Schemes that locate events describe forces by polynomials, which may
        leave the contact law between their nodes: there the nearest admissible force is returned, which is nearer to
        the true one as well. By how much the polynomials leave the law is `admissibility`.
        """
        made = forces_at(self, self._places(t, side))[:, : len(self.rows)].copy()
        if traits_of(self.scheme).locates_events:
            put_on_cones(self, made)
        return made[0] if np.ndim(t) == 0 else made

    def joint_force_at(self, t: ArrayLike, side: Side = "+") -> np.ndarray:
        """Return the forces of the joints, one column per joint row [N or N m]; see `force_at`.

        Averages over a step contain what the joints take of an impact in it.
        """
        made = forces_at(self, self._places(t, side))[:, len(self.rows) :]
        return made[0] if np.ndim(t) == 0 else made

    def _places(self, t, side: Side) -> Places:
        """Find the nodes and steps of times, and refuse those outside."""
        if side not in ("+", "-"):
            raise SettingError(f"side is {side!r}: it must be '+' or '-'")
        try:
            times = np.atleast_1d(np.asarray(t, dtype=float))
        except (TypeError, ValueError) as error:
            raise SettingError(f"t is {t!r}: it must be a time or an array of times [s]") from error
        if times.ndim > 1:
            raise SettingError(f"t has the shape {times.shape}: it must be a time or a list of times [s]")
        if side == "+":
            times = np.where(times == self.t[0], self._begins, times)
        outside = times[~((self.t[0] <= times) & (times <= self.t[-1]))]
        if len(outside):
            raise SettingError(f"t = {outside[0]} lies outside of the run, {self.t[0]} to {self.t[-1]}")
        above = np.searchsorted(self.t, times, side="right" if side == "+" else "left")
        near = above - 1 if side == "+" else above
        node = np.where(self.t[near] == times, near, -1)
        return Places(times, node, np.minimum(np.maximum(above, 1), len(self.t) - 1), side)

    @functools.cached_property
    def _begins(self) -> float:
        """The time whose right limit is that of the start: behind impacts that strike where the run begins."""
        if self._extra is None:
            return float(self.t[0])
        instant = RECORDED.smallest * (abs(self.t[0]) + abs(self.t[-1] - self.t[0]))
        return float(self.t[np.searchsorted(self.t, self.t[0] + instant, side="right") - 1])

    def _whole(self, end: np.ndarray) -> np.ndarray:
        """Tell which nodes end a step that was kept as a whole."""
        return end > 0 if self._extra is None else self._extra[end, 3] > 0.0

    def _steps(self, places: Places, chosen: np.ndarray) -> Iterator[tuple]:
        """Yield the chosen times in parts whose dense blocks have one size: which they are, s, h, blocks by row."""
        missing = chosen[~self._whole(places.end[chosen])]
        if len(missing):
            raise SettingError(
                f"the run kept no step around t = {places.t[missing[0]]}: run with save='steps', or list the times "
                "in t_eval"
            )
        end = places.end[chosen]
        begin, size = np.zeros((2, len(end)), dtype=int)
        widths = [0]
        if self._extra is not None:
            following = self._extra[np.minimum(end + 1, len(self.t) - 1), 2]
            begin = self._extra[end, 2].astype(int)
            size = np.where(end + 1 < len(self.t), following, len(self._dense)).astype(int) - begin
            widths = sorted(set(size.tolist()))
        for width in widths:
            same = np.flatnonzero(size == width)
            most = max(BYTES_AT_ONCE // (width + self.q.shape[1] + self.v.shape[1] + self._all_rows), 1)
            for first in range(0, len(same), most):
                part = same[first : first + most]
                i, start = chosen[part], self.t[end[part] - 1]
                h = self.t[end[part]] - start
                block = np.empty((len(part), 0))
                if width:
                    block = np.lib.stride_tricks.sliding_window_view(self._dense, width)[begin[part]]
                yield i, ((places.t[i] - start) / h)[:, None], h[:, None], block

    def _nodes(self, k: np.ndarray) -> SimpleNamespace:
        q, v = self.q[k], self.v[k]
        return SimpleNamespace(q=q, v=v, v_minus=self.v_minus[k], q_dot=self._rate(q, v), rate=self._rate)

    def _rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return q_dot of states by row."""
        if self.system.rate_is_velocity:
            return v
        if isinstance(self._model, NodeValues):
            return self._model.rate(q, v)
        made = np.empty(q.shape)
        with failures_raised(called=self._model.calls_python):
            ready(coordinate_rates)(self._model.units, q.flatten(), v.flatten(), made.reshape(-1))
        return made

    # ---- impulses and forces of all rows, contacts first, joints after them; see results/reactions.py

    @functools.cached_property
    def _total(self) -> np.ndarray:
        return total_of(self)

    @functools.cached_property
    def _lasting(self) -> np.ndarray:
        return lasting_of(self)

    @functools.cached_property
    def _atoms(self) -> np.ndarray:
        return atoms_of(self)

    @functools.cached_property
    def _impacts(self) -> Impacts:
        return impacts_of(self)

    # ---- another grid

    def at_times(self, times: np.ndarray) -> Solution:
        """Return the solution with its grid replaced by times inside of kept steps (what `t_eval` gives)."""
        return at_times(self, times)

    # ---- energy

    @functools.cached_property
    def energy(self) -> Energy:
        """The energy ledger, see `Energy`."""
        kinetic = self._kinetic(self.t, self.q, self.v)
        contacts = len(self.system.contacts)
        dissipation = np.concatenate([np.zeros((1, contacts)), np.cumsum(self._dissipation, axis=0)])
        work = np.cumsum(self._ledger[:, 1])
        return Energy(kinetic, work, dissipation)

    def _kinetic(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if isinstance(self._model, NodeValues):
            return self._model.kinetic[self._model.rows(t)]
        kinetic, scratch = np.empty(len(t)), np.empty(int(self._model.profile.size))
        # copies, because kernels take writeable arrays only
        with failures_raised(called=self._model.calls_python):
            ready(kinetic_energies)(self._model.units, t.copy(), q.flatten(), v.flatten(), scratch, kinetic)
        return kinetic

    # ---- a second run

    def verify(
        self,
        system: System | Problem | None = None,
        *,
        scheme: SchemeLike | None = None,
        max_step: float | None = None,
        events: Event | Sequence[Event] | None = None,
        progress: bool | None = None,
    ) -> Verification:
        """Run the problem once more with other steps and a smaller tolerance, and say how far both runs agree.

        A scheme that keeps a tolerance gets a hundredth of it, another first step, another highest degree and no long
        steps; doubled steps get a tenth of it; a scheme with a step h gets smaller ones, whose grid meets that of the
        first run at its start only. Runs of which few times were kept are made again as a whole.

        Parameters
        ----------
        system
            The system of the run, only for a loaded solution, which has no functions.
        scheme
            Scheme of the second run, e.g. EventDriven(); it gets the tolerance of the second run. None: the same one.
        max_step
            Longest step of the second run [s], where it chooses its steps; shorter than the longest of the first run
            in any case. None: about a thousandth of the span. Smaller ones look for what is narrower than that.
        events
            Events of the run, only where a file or a pickle has not kept them.
        progress
            Show a progress bar, as in `solve`.

        Returns
        -------
        Verification
            Mean errors of q, v and i, the time up to which both runs agree, the event at which they part and why.

        Raises
        ------
        SettingError
            When the run cannot be made again, or the second run would be no other one.
        """
        from saltus.verify.verify import verify

        return verify(self, system, scheme=scheme, max_step=max_step, events=events, progress=progress)

    # ---- pictures

    def plot(
        self,
        *,
        axes: Sequence[Axes | None] | None = None,
        coordinates: Sequence[int] | Mapping[int, str] | None = None,
        panels: Literal["quantity", "unit", "body"] | None = None,
        time: Literal["time", "event"] = "time",
        width: Literal["one column", "two columns"] | float | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """Draw positions, velocities with their jumps, gaps and accumulated impulses; returns the matplotlib figure.

        Other figures are functions of `saltus.plot`: phase, gantt, energy, impact_map, section, spectrum, ...

        Parameters
        ----------
        axes
            Where to draw: positions, velocities, gaps, impulses; None skips one. Without it a new figure is made.
        coordinates
            Columns of q and v to draw, or {column: label}; all of them by default.
        panels
            By "quantity", "unit" or "body"; None: by unit where coordinates have different units.
        time
            "time", or "event" for equal room between impacts.
        width
            "one column" (85 mm), "two columns" (174 mm) or millimetres; None is for screens.
        path
            Where to write the figure: .png, .pdf or .svg.
        """
        from saltus.plot import plot_solution

        return plot_solution(self, axes=axes, coordinates=coordinates, panels=panels, time=time, width=width, path=path)

    def plot_steps(self, *, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw step sizes, rejected attempts, error estimates and degrees over time; path writes .png, .pdf, .svg."""
        from saltus.plot import plot_steps

        return plot_steps(self, path=path)

    def gaps(self) -> np.ndarray:
        """Return the gaps of all contacts at the kept times (n + 1, contacts) [m]."""
        if isinstance(self._model, NodeValues):
            if self._model.gaps is None:
                raise SettingError(
                    "the file holds no gaps, because one of them could not be evaluated when it was saved"
                )
            return self._model.gaps[self._model.rows(self.t)]
        return gaps_of(self, self.t, self.q)

    # ---- questions, each in a file of its own

    def gap_at(self, t: ArrayLike, side: Side = "+") -> np.ndarray:
        """Return the gaps of all contacts at any time, or at many (times, contacts) [m].

        `side` chooses the place where an event of the user resets the positions. A loaded solution answers by the
        cubic pieces of its file, whose error is measured when it is saved (docs/results.md).
        """
        return gap_at(self, t, side)

    def energy_at(self, t: ArrayLike, side: Side = "+") -> EnergyAt:
        """Return the energy ledger at any time, or at many [J]: kinetic energy, work, dissipation, defect.

        Kinetic energy and the loss of impacts belong to their times; what friction takes in a step, and the defect of
        the scheme, are shared within the step in proportion to time.
        """
        return energy_at(self, t, side)

    def sample(self, dt: float, *, span: tuple[float, float] | None = None) -> Samples:
        """Return the run at equal steps of time dt [s]: t, q, v, impulses, mean forces; columns by name.

        span: begin and end [s]; the whole run by default.
        """
        from saltus.results.sample import sample

        return sample(self, dt, span)

    def spectrum(
        self,
        x: str | int,
        *,
        dt: float | None = None,
        span: tuple[float, float] | None = None,
        window: Literal["hann", "flattop", "none"] = "hann",
    ) -> Spectrum:
        """Return the windowed amplitude spectrum of a coordinate, velocity or contact force.

        Jumps of velocities and impacts are transformed exactly at their times, so that none of them is folded back
        from above the band.

        Parameters
        ----------
        x
            A coordinate by name or number, its velocity ("x_dot", "v[0]"), a contact row ("floor N", "floor T") or a
            contact for its normal force. Forces contain impacts: a train of impulses P every T has lines of 2 P / T.
        dt
            Distance of the samples [s]: frequencies reach to 1 / (2 dt). None: a part of 8192 of the span.
        span
            Begin and end [s]; leave the first part out to see what lasts. Lines are 1 / (end - begin) apart.
        window
            "hann" for peaks close together (a peak between two lines shows up to 15 % too low), "flattop" for true
            heights, "none" where the span is a whole number of periods.

        Returns
        -------
        Spectrum
            f [Hz], amplitude and its `units`, phase; `peaks()` and `plot()`.
        """
        from saltus.results.spectrum import spectrum

        return spectrum(self, x, dt, span, window)

    def contact(self, x: str) -> ContactResult:
        """Return what a contact did: gap, force, impulse, slip, share of time in contact, dissipated energy."""
        from saltus.results.contact import contact

        return contact(self, x)

    # ---- mechanisms (saltus.mechanics)

    def body(self, x: str | int) -> BodyResult:
        """Return what a body of a mechanism did, by name or number: pose, velocity, points, energies."""
        from saltus.results.body import BodyResult

        return BodyResult(self, x)

    def joint(self, x: str) -> JointResult:
        """Return what a joint of a mechanism did: force and torque in its frame, eccentricity, share of time.

        An ideal joint and one with clearance answer alike.
        """
        from saltus.results.joint import JointResult

        return JointResult(self, x)

    def strobe(
        self, times: ArrayLike | None = None, *, axes: Axes | None = None, path: str | os.PathLike[str] | None = None
    ) -> Figure:
        """Draw a mechanism at some times into one picture, later ones stronger; returns the matplotlib figure.

        times [s]: five over the run by default. axes: where to draw. path writes .png, .pdf or .svg.
        """
        from saltus.plot.strobe import strobe

        return strobe(self, times, axes=axes, path=path).figure.figure  # twice: axes may stand in a part of a figure

    def view(
        self,
        path: str | os.PathLike | None = None,
        *,
        scene: Sketch | None = None,
        accuracy: float = 1e-5,
        limits: tuple[float, float, float] | None = None,
        title: str | None = None,
    ) -> View:
        """Return the run to look at: a page that plays it, with both sides of every jump, forces and certificate.

        In a notebook it shows itself; `.save("run.html")` writes one file that needs no network, `.save("run.mp4")` and
        `.gif` films, `.glb` a scene for other programs.

        Parameters
        ----------
        path
            Where to save it at once.
        scene
            A `saltus.view.Sketch`, where the system carries none and was not made by saltus.mechanics.
        accuracy
            How far anything may be drawn from where the run has it, as a share of the size of the scene; the bound
            stands in the picture.
        limits
            Residual, violation [m] and admissibility above which the badge is red. None: by the tolerance of the run.
        title
            What stands above it; the name of the problem by default.
        """
        from saltus.view.content import Options
        from saltus.view.view import view

        return view(self, path, Options(scene, accuracy, limits, title))

    # ---- contact problems

    def contact_problem(
        self, step: int, *, number: int | None = None, problem: Problem | None = None, h: float | None = None
    ) -> ContactProblem:
        """Return a contact problem that a step solved, in reduced form with joints eliminated.

        The step is made again from its stored start, and must end where the stored one ends. The names of the problem
        are those of the contacts that take part in it.

        Parameters
        ----------
        step
            Number of the step that leads from t[step] to t[step + 1], negative from the end; len(t) - 1 names the one
            that ended a failed run.
        number
            Which of the problems of the step, from 0 in the order in which they were solved; None: the last one of the
            largest, without corrections of positions.
        problem
            The problem that was solved, only for a loaded solution, which has no functions.
        h
            Size of a step that failed [s]; that of the step before by default.

        Raises
        ------
        SettingError
            When the step cannot be made again (thinned run, another model) or solved no contact problem.
        """
        from saltus.run.met_problems import check_met, chosen, met_problems

        met = met_problems(self, step, problem, h)
        check_met(self, step, met)
        return met[chosen(met, number)].problem

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the model and the exact solution to an HDF5 file; `saltus.load` reads it back.

        The file appears as a whole or not at all, carries a checksum, and is valid netCDF-4.
        """
        from saltus.io.results import save

        save(self, path)

    def to_xarray(self) -> xarray.Dataset:
        """Return the run as an xarray Dataset over t, with units, names of contacts and the events."""
        from saltus.io.dataset import to_dataset

        return to_dataset(self)
