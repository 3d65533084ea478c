"""Solution: everything that happened in a run, read-only, callable in time."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus.compile.seam import ready, unit, vec
from saltus.compile.types import MODEL_RECORD, A, I, Nodes
from saltus.errors import SettingError
from saltus.layout import NC, NJ, NQ, NV
from saltus.profile import quadratic
from saltus.record import EVENT_AFTER, EVENT_BEFORE, EVENT_IMPULSE, KIND_NAMES
from saltus.status import Status
from saltus.system import System

if TYPE_CHECKING:
    import xarray

    from saltus.io.stored import StoredSystem
    from saltus.model import CompiledModel
    from saltus.problem import Exact


def event_type(names: tuple[str, ...]) -> np.dtype:
    """Return the type of the event table for contacts of these names."""
    longest = max((len(name) for name in names), default=1)
    vectors = [(name, float, 3) for name in ("u_minus", "u_plus", "impulse")]
    return np.dtype([("t", float), ("contact", f"U{longest}"), ("kind", "U8"), *vectors])


@dataclasses.dataclass(frozen=True)
class StateAt:
    """The state at a time: t [s], q, v (one-sided limit)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


@dataclasses.dataclass(frozen=True)
class Energy:
    """The energy ledger at the kept times [J].

    kinetic(t) = kinetic(0) + work - dissipation + defect, with work of the forces f, K, C and of moving
    constraints, dissipation in the contacts (impact and friction), and the defect of the discretisation.
    """

    kinetic: np.ndarray
    work: np.ndarray
    dissipation: np.ndarray

    @property
    def defect(self) -> np.ndarray:
        """What the scheme itself gained or lost [J]."""
        return self.kinetic - self.kinetic[0] - self.work + self.dissipation.sum(axis=1)


@dataclasses.dataclass(frozen=True, eq=False)
class NodeValues:
    """What a loaded solution has in place of its model: values at the kept times, and q_dot wherever it was needed.

    Attributes
    ----------
    t, kinetic, gaps
        Kept times [s], kinetic energy [J], gaps [m] (None when a gap could not be evaluated).
    states, rates
        Rows (q, v) and their q_dot, for coordinates with their own q_dot.
    """

    t: np.ndarray
    kinetic: np.ndarray
    gaps: np.ndarray | None
    states: np.ndarray
    rates: np.ndarray

    def rows(self, t: np.ndarray) -> np.ndarray:
        """Return the numbers of the nodes at times t."""
        places = np.searchsorted(self.t, t).clip(max=len(self.t) - 1)
        if not np.array_equal(self.t[places], t):
            raise SettingError(f"a loaded solution has no model to evaluate between its times: solve with t_eval={t}")
        return places

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the stored q_dot of a state that dense output needs."""
        try:
            return self._known[q.tobytes() + v.tobytes()]
        except KeyError as error:
            raise SettingError(f"a loaded solution has no q_dot at q = {q}, v = {v}: solve again") from error

    @functools.cached_property
    def _known(self) -> dict[bytes, np.ndarray]:
        return {state.tobytes(): q_dot for state, q_dot in zip(self.states, self.rates, strict=True)}


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
        Structured table: t, contact, kind ("impact", "closing", "release", "stick", "slip"), u_minus, u_plus,
        impulse, each with (N, T1, T2).
    work
        Counts: "f" force evaluations, "jac" Jacobians, "steps", "rejected", "iterations", "contact_sweeps".
    status, message
        How it ended; `success` is True only when the end of the span was reached.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    events: np.ndarray
    work: dict[str, int]
    status: Status
    message: str
    system: System | StoredSystem
    scheme: Any
    rows: tuple[tuple[str, str], ...]
    exact: Exact | None
    name: str | None
    _model: CompiledModel | NodeValues = dataclasses.field(repr=False)
    _ledger: np.ndarray = dataclasses.field(repr=False)
    _extra: np.ndarray | None = dataclasses.field(repr=False)
    _reactions: np.ndarray = dataclasses.field(repr=False)
    _dense: np.ndarray = dataclasses.field(repr=False)
    _before: np.ndarray = dataclasses.field(repr=False)

    @property
    def success(self) -> bool:
        """Whether the run reached the end of its span."""
        return self.status is Status.OK

    def __repr__(self) -> str:
        kinds, counts = np.unique(self.events["kind"], return_counts=True)
        seen = ", ".join(f"{n} {kind}" for kind, n in zip(kinds, counts, strict=True)) or "no events"
        return (
            f"Solution({self.name or self.system.name or 'system'} by {self.scheme.name}: t = {self.t[0]:g} to "
            f"{self.t[-1]:g}, {self.work['steps']} steps, {seen}; {self.message.splitlines()[0]})"
        )

    # ---- what is stored sparsely, as full arrays

    @functools.cached_property
    def v_minus(self) -> np.ndarray:
        """Left limits of the velocities (n + 1, nv)."""
        made = self.v.copy()
        made[self._reactions[:, 0].astype(int)] = self._reactions[:, 2 : 2 + self.v.shape[1]]
        return _frozen(made)

    @functools.cached_property
    def impulse(self) -> np.ndarray:
        """Reaction over each (t_k, t_k+1] (n, rows): per contact N | N, T | N, T1, T2 [N s]."""
        return self._filled(0, len(self.rows))

    @functools.cached_property
    def joint_impulse(self) -> np.ndarray:
        """Reaction of the joints over each (t_k, t_k+1] (n, joint rows) [N s or N m s]."""
        return self._filled(len(self.rows), self._all_rows)

    @functools.cached_property
    def residual(self) -> np.ndarray:
        """Certificate of the contact law (n,): scaled natural map, largest since the kept time before."""
        made = np.zeros(len(self.t) - 1)
        made[self._reactions[:, 0].astype(int) - 1] = self._reactions[:, 1]
        return _frozen(made)

    @property
    def violation(self) -> np.ndarray:
        """Largest penetration or joint error since the kept time before (n,) [m]."""
        return self._ledger[1:, 0]

    @property
    def step_error(self) -> np.ndarray:
        """Error estimate of schemes that have one (n,), zero otherwise."""
        return np.zeros(len(self.t) - 1) if self._extra is None else self._extra[1:, 0]

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
        first = 2 + self.v.shape[1]
        made[self._reactions[:, 0].astype(int) - 1] = self._reactions[:, first + begin : first + end]
        return _frozen(made)

    # ---- dense output

    def __call__(self, t, side: Literal["+", "-"] = "+") -> StateAt:
        """Return the state at any time in the span; `side` chooses the limit of v at a jump."""
        try:
            times = np.atleast_1d(np.asarray(t, dtype=float))
        except (TypeError, ValueError) as error:
            raise SettingError(f"t is {t!r}: it must be a time or an array of times [s]") from error
        q, v = np.empty((len(times), self.q.shape[1])), np.empty((len(times), self.v.shape[1]))
        for i, time in enumerate(times):
            q[i], v[i] = self._at(float(time), side)
        if np.ndim(t) == 0:
            q, v = q[0], v[0]
        return StateAt(np.asarray(t, dtype=float), q, v)

    def _interval(self, time: float, side: str) -> int:
        """Return the index of the node that ends the step containing a time."""
        if side not in ("+", "-"):
            raise SettingError(f"side is {side!r}: it must be '+' or '-'")
        if not self.t[0] <= time <= self.t[-1]:
            raise SettingError(f"t = {time} lies outside of the run, {self.t[0]} to {self.t[-1]}")
        return int(np.searchsorted(self.t, time, side="right" if side == "+" else "left"))

    def _at(self, time: float, side: str) -> tuple[np.ndarray, np.ndarray]:
        end = self._interval(time, side)
        if end > 0 and side == "+" and self.t[end - 1] == time:
            return self.q[end - 1], self.v[end - 1]
        if end < len(self.t) and side == "-" and self.t[end] == time:
            return self.q[end], self.v_minus[end]
        if self._extra is not None and self._extra[end, 3] == 0.0:
            raise SettingError(
                f"the run kept no step around t = {time}: run with save='steps', or list the times in t_eval"
            )
        start, h = self._node(end - 1), self.t[end] - self.t[end - 1]
        block = self._dense
        if self._extra is not None:
            stop = int(self._extra[end + 1, 2]) if end + 1 < len(self.t) else len(self._dense)
            block = self._dense[int(self._extra[end, 2]) : stop]
        return self.scheme.interpolate((time - self.t[end - 1]) / h, h, start, self._node(end), block, side)

    def _node(self, k: int) -> SimpleNamespace:
        return SimpleNamespace(
            q=self.q[k], v=self.v[k], v_minus=self.v_minus[k], q_dot=self._rate(self.q[k], self.v[k]), rate=self._rate
        )

    def _rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self.system.q_dot is None:
            return v
        if isinstance(self._model, NodeValues):
            return self._model.rate(q, v)
        return self._model.functions["q_dot"](0.0, q, v)

    def impulse_at(self, t) -> np.ndarray:
        """Return the measure i(t) accumulated from the start, one column per contact row [N s].

        An impact counts from its own time on; a lasting contact force grows linearly within a step.
        """
        times = np.atleast_1d(np.asarray(t, dtype=float))
        total = np.concatenate([self._before[None], self._before + np.cumsum(self.impulse, axis=0)])
        made = np.empty((len(times), self.impulse.shape[1]))
        for i, time in enumerate(times):
            end = self._interval(time, "+")
            made[i] = total[end - 1]
            if end < len(self.t) and self.t[end - 1] != time:
                share = (time - self.t[end - 1]) / (self.t[end] - self.t[end - 1])
                made[i] += share * (self.impulse[end - 1] - self._atoms[end - 1])
                made[i] += self._impacts(self.t[end - 1], time)
        return made[0] if np.ndim(t) == 0 else made

    def force_at(self, t) -> np.ndarray:
        """Return the contact force r(t) of lasting contacts, averaged over the step around t [N]."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        ends = np.array([min(self._interval(time, "+"), len(self.t) - 1) for time in times])
        smooth = (self.impulse - self._atoms) / np.diff(self.t)[:, None]
        return smooth[ends[0] - 1] if np.ndim(t) == 0 else smooth[ends - 1]

    @functools.cached_property
    def _atoms(self) -> np.ndarray:
        """The part of `impulse` that impacts make up."""
        atoms = np.zeros_like(self.impulse)
        for time, rows, impulse in self._impact_rows:
            k = int(np.searchsorted(self.t, time, side="left"))
            if 0 < k < len(self.t):
                atoms[k - 1, rows] += impulse
        return atoms

    def _impacts(self, after: float, until: float) -> np.ndarray:
        """Return the impulses of the impacts in (after, until]."""
        total = np.zeros(self.impulse.shape[1])
        begin, end = np.searchsorted([impact[0] for impact in self._impact_rows], (after, until), side="right")
        for _, rows, impulse in self._impact_rows[begin:end]:
            total[rows] += impulse
        return total

    @functools.cached_property
    def _impact_rows(self) -> list[tuple[float, slice, np.ndarray]]:
        """Time, rows and impulse of every impact, in order of time."""
        names = [name for name, _ in self.rows]
        place = {name: slice(names.index(name), names.index(name) + names.count(name)) for name in names}
        impacts = self.events[self.events["kind"] == "impact"]
        made = []
        for t, contact, impulse in zip(impacts["t"], impacts["contact"], impacts["impulse"], strict=True):
            rows = place[str(contact)]
            made.append((float(t), rows, impulse[: rows.stop - rows.start]))
        return made

    def at_times(self, times: np.ndarray) -> Solution:
        """Return the solution with its grid replaced by times inside of kept steps (what `t_eval` gives)."""
        times = times[times <= self.t[-1]]
        if len(times) == 0:
            return self
        right, left = self(times), self(times, side="-")
        total = self.impulse_at(times)
        energy, kinetic = self.energy, self._kinetic(times, right.q, right.v)
        joint = np.concatenate([np.zeros((1, self.joint_impulse.shape[1])), np.cumsum(self.joint_impulse, axis=0)])
        shared = [self._shared(times, column) for column in (joint, energy.defect[:, None])]
        # what an impact takes is taken at its time, at the end of its step
        lost = self._shared(times, energy.dissipation, np.any(self._atoms != 0.0, axis=1))
        work = kinetic - energy.kinetic[0] + lost.sum(axis=1) - shared[1][:, 0]
        ends = np.searchsorted(self.t, times, side="left")
        worst = [
            np.array([np.max(column[max(a - 1, 0) : b], initial=0.0) for a, b in itertools.pairwise(ends)])
            for column in (self.residual, self.violation, self.step_error)
        ]
        n = len(times)
        grown = np.diff(np.concatenate([total, shared[0], lost], axis=1), axis=0)
        reactions = np.concatenate(
            [np.arange(n)[:, None], np.zeros((n, 1)), left.v, np.zeros((n, grown.shape[1]))], axis=1
        )
        reactions[1:, 1], reactions[1:, 2 + left.v.shape[1] :] = worst[0], grown
        ledger, extra = np.zeros((n, 2)), np.zeros((n, 4))
        ledger[1:, 0], ledger[1:, 1], extra[1:, 0] = worst[1], np.diff(work), worst[2]
        made = dataclasses.replace(
            self,
            t=times,
            q=right.q,
            v=right.v,
            _before=total[0],
            _ledger=ledger,
            _extra=extra,
            _reactions=reactions[1:] if n > 1 else reactions[:0],
            _dense=np.zeros(0),
        )
        return read_only(made)

    def _shared(self, times: np.ndarray, sums: np.ndarray, late: np.ndarray | None = None) -> np.ndarray:
        """Return sums at the nodes, shared within a step in proportion to time; in `late` steps all at the end."""
        ends = np.clip(np.searchsorted(self.t, times, side="left"), 1, len(self.t) - 1)
        share = (times - self.t[ends - 1]) / (self.t[ends] - self.t[ends - 1])
        if late is not None:
            share = np.where(late[ends - 1] & (share < 1.0), 0.0, share)
        return sums[ends - 1] + share[:, None] * (sums[ends] - sums[ends - 1])

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
        ready(kinetic_energies)(self._model.units, t.copy(), q.flatten(), v.flatten(), scratch, kinetic)
        return kinetic

    # ---- pictures

    def plot(self, **options):
        """Draw positions, velocities with their jumps, gaps and impulses; returns the matplotlib figure."""
        from saltus.plot import plot_solution

        return plot_solution(self, **options)

    def gaps(self) -> np.ndarray:
        """Return the gaps of all contacts at the kept times (n + 1, contacts) [m]."""
        if isinstance(self._model, NodeValues):
            if self._model.gaps is None:
                raise SettingError(
                    "the file holds no gaps, because one of them could not be evaluated when it was saved"
                )
            return self._model.gaps[self._model.rows(self.t)]
        made = np.empty((len(self.t), len(self.system.contacts)))
        scratch = np.empty(int(self._model.layout[NC] + self._model.layout[NJ]))
        ready(node_gaps)(self._model.units, self.t.copy(), self.q.flatten(), scratch, made.reshape(-1))
        return made

    # ---- files

    def save(self, path: str | os.PathLike) -> None:
        """Write everything but the model and the exact solution to an HDF5 file; `saltus.load` reads it back.

        The file appears as a whole or not at all, carries a checksum, and is valid netCDF-4.
        """
        from saltus.io.results import save

        save(self, path)

    def to_xarray(self) -> xarray.Dataset:
        """Return the run as an xarray Dataset over t, with units, names of contacts and the events."""
        from saltus.io.dataset import to_dataset

        return to_dataset(self)


@unit(I(MODEL_RECORD, A, A, A, A, A), entry=True)
def kinetic_energies(model, t, q, v, M, out):
    """Write 1/2 v^T M v of every node; q and v are flat."""
    nq, nv = model.layout[NQ], model.layout[NV]
    for k in range(t.shape[0]):
        model.mass(t[k], vec(q, k * nq, nq), model.par, M)
        out[k] = 0.5 * quadratic(model.layout, M, vec(v, k * nv, nv))
    return 0


@unit(I(MODEL_RECORD, A, A, A, A), entry=True)
def node_gaps(model, t, q, g, out):
    """Write the gaps of all contacts at every node; q and out are flat, g has room for contacts and joints."""
    nq, nc = model.layout[NQ], model.layout[NC]
    for k in range(t.shape[0]):
        model.gap(t[k], vec(q, k * nq, nq), model.par, g)
        for c in range(nc):
            out[k * nc + c] = g[c]
    return 0


def build_solution(
    model: CompiledModel, scheme, nodes: Nodes, events, dense, counts, status, message, problem
) -> Solution:
    """Make a Solution from the tables of a march."""
    system = model.system
    table = np.zeros(len(events), dtype=event_type(system.contact_names))
    names = np.array(system.contact_names or ("",))
    table["t"] = events[:, 0]
    table["contact"] = names[events[:, 1].astype(int)]
    table["kind"] = np.array(KIND_NAMES)[events[:, 2].astype(int)]
    for name, place in (("u_minus", EVENT_BEFORE), ("u_plus", EVENT_AFTER), ("impulse", EVENT_IMPULSE)):
        table[name] = events[:, place : place + 3]
    made = Solution(
        t=nodes.t[:, 0],
        q=nodes.q,
        v=nodes.v,
        events=table,
        work=counts,
        status=status,
        message=message,
        system=system,
        scheme=scheme,
        rows=model.rows,
        exact=problem.exact,
        name=problem.name,
        _model=model,
        _ledger=nodes.ledger,
        _extra=nodes.extra if nodes.extra.shape[1] else None,
        _reactions=nodes.reactions,
        _dense=dense,
        _before=np.zeros(len(model.rows)),
    )
    return read_only(made)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def read_only(solution: Solution) -> Solution:
    """Protect the arrays of a new solution and return it."""
    for field in dataclasses.fields(solution):
        value = getattr(solution, field.name)
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return solution
