"""Results on disk: a Solution without its model, in the layout that docs/results.md describes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from saltus.errors import FileFormatError, FunctionError, SettingError
from saltus.io.format import Content, Variable, read, write
from saltus.io.settings import describe, rebuild
from saltus.io.stored import StoredContact, StoredForceScheme, StoredJoint, StoredScheme, StoredSystem
from saltus.record import KIND_NAMES
from saltus.solution import Asked, NodeValues, Solution, event_type, read_only
from saltus.status import Status
from saltus.verification import Parting, Verification

EVENT_VECTORS = ("u_minus", "u_plus", "impulse")
SWITCHES = "switches/t", "switches/name"  # times at which branches of functions change, and places of their names
UNKNOWN_KIND = "unknown"  # an event of a kind that a later version of saltus knows


def save(solution: Solution, path: str | os.PathLike, source: str | None = None) -> None:
    """Write a solution to a file, see `Solution.save`; source: how to build its problem again, where that is known."""
    variables = _variables(solution)
    write(path, "results", variables, {**_about(solution), "source": source})


def source_of(path: str | os.PathLike) -> str | None:
    """Return how to build the problem of a saved solution again, if the file says it."""
    return read(path, "results").about.get("source")


def load(path: str | os.PathLike) -> Solution:
    """Read a solution that `Solution.save` wrote; every byte is checked.

    Arrays, events, energy, gaps, plots and `sol(t)` are those of the saved one. The model's functions and the exact
    solution are not in a file: `exact` is None.

    Raises
    ------
    FileError
        When there is no such file; FileFormatError when it is not a result of saltus, DamagedFileError when it was
        changed or cut off.
    """
    content = read(path, "results")
    try:
        return _solution(content)
    except (KeyError, ValueError, TypeError) as error:
        raise FileFormatError(f"{path} was not written by this format of saltus: {error!r}") from error


# ---- writing


def _variables(solution: Solution) -> dict[str, Variable]:
    names = (*solution.system.contact_names, *solution.event_names)
    events = solution.events
    verification = solution.verification
    states, rates = _rates(solution)
    made = {
        "t": Variable(solution.t, ("t",), "s"),
        "q": Variable(solution.q, ("t", "coordinate")),
        "v": Variable(solution.v, ("t", "velocity")),
        "kinetic_energy": Variable(solution.energy.kinetic, ("t",), "J"),
        "violation": Variable(_from_zero(solution.violation), ("t",), "m"),
        "residual": Variable(_from_zero(solution.residual), ("t",)),
        "admissibility": Variable(_from_zero(solution.admissibility), ("t",)),
        "certificate/ends": Variable(solution._ledger[:, 0], ("t",), "m"),
        "certificate/inside": Variable(_from_zero(solution._inside), ("t", "inside_column")),
        "work_since": Variable(solution._ledger[:, 1], ("t",), "J"),
        "reactions/table": Variable(solution._reactions, ("reaction", "reaction_column")),
        "reactions/before": Variable(solution._before, ("row",), "N s"),
        "dense/block": Variable(solution._dense, ("dense_entry",)),
        "dense/state": Variable(states, ("state", "state_column")),
        "dense/q_dot": Variable(rates, ("state", "coordinate")),
        "events/t": Variable(events["t"], ("event",), "s"),
        "events/contact": Variable(_places(events["contact"], names), ("event",)),
        "events/kind": Variable(_places(events["kind"], _kinds(events)), ("event",)),
        "events/count": Variable(events["count"].astype(np.int64), ("event",)),
        "events/energy": Variable(events["energy"], ("event",), "J"),
    }
    for name in EVENT_VECTORS:
        made[f"events/{name}"] = Variable(events[name], ("event", "axis"), "N s" if name == "impulse" else "m s-1")
    if solution._extra is not None:
        made["extra/table"] = Variable(solution._extra, ("t", "extra_column"))
    switches = getattr(solution, "switches", None)
    if switches is not None:
        made[SWITCHES[0]] = Variable(switches["t"], ("switch",), "s")
        made[SWITCHES[1]] = Variable(_places(switches["name"], _names(switches)), ("switch",))
    if verification is not None:
        made["verification/t"] = Variable(verification.t, ("verification_time",), "s")
        made["verification/growth"] = Variable(verification.growth, ("verification_time", "quantity"))
    if solution._forces is not None:
        made["reactions/force"] = Variable(solution._forces, ("side", "t", "reaction_row"), "N")
    try:
        made["gap"] = Variable(solution.gaps(), ("t", "contact"), "m")
    except (FunctionError, SettingError):
        pass  # a gap that fails at some state must not cost the run; the loaded solution says that there are none
    return {name: dataclasses.replace(part, values=np.ascontiguousarray(part.values)) for name, part in made.items()}


def _about(solution: Solution) -> dict[str, Any]:
    system, scheme = solution.system, solution.scheme
    stored = isinstance(scheme, StoredScheme)
    return {
        "name": solution.name,
        "status": int(solution.status),
        "message": solution.message,
        "work": solution.work,
        "rows": [list(row) for row in solution.rows],
        "events": list(solution.event_names),
        "system": {
            "name": system.name,
            "contacts": [
                [name, float(c.e), float(c.mu)] for name, c in zip(system.contact_names, system.contacts, strict=True)
            ],
            "joints": list(system.joint_names),
            "q_dot": system.q_dot is not None,
        },
        "scheme": {
            "name": scheme.name,
            "description": scheme.description if stored else describe(scheme),
            "reaction": hasattr(scheme, "reaction"),
        },
        "kinds": list(_kinds(solution.events)),
        "switches": _switch_names(getattr(solution, "switches", None)),
        "asked": None if solution._asked is None else _asked_of(solution._asked),
        "verification": None if solution.verification is None else _verification_of(solution.verification),
    }


def _asked_of(asked: Asked) -> dict[str, Any]:
    """Return what `solve` was asked as JSON values; functions of events are not among them."""
    return {
        "t_span": list(asked.t_span), "q0": asked.q0.tolist(), "v0": asked.v0.tolist(), "h": float(asked.h),
        "control": describe(asked.control), "breaks": list(asked.breaks), "start_tolerance": asked.start_tolerance,
    }  # fmt: skip


def _verification_of(verification: Verification) -> dict[str, Any]:
    """Return a verification as JSON values; its curves are variables of the file."""
    made = {f.name: getattr(verification, f.name) for f in dataclasses.fields(verification)}
    for curve in ("t", "growth"):
        del made[curve]
    parting = verification.parting
    return {**made, "parting": None if parting is None else dataclasses.asdict(parting)}


def _switch_names(switches: np.ndarray | None) -> dict[str, Any] | None:
    """Return the names of switches and the type that holds them, where a solution lists switches."""
    return None if switches is None else {"names": list(_names(switches)), "type": switches["name"].dtype.str}


def _names(switches: np.ndarray) -> tuple[str, ...]:
    return tuple(np.unique(switches["name"]).tolist())


def _kinds(events: np.ndarray) -> tuple[str, ...]:
    """Return the names of the kinds of events that the numbers in a file stand for."""
    others = set(np.unique(events["kind"]).tolist()) - set(KIND_NAMES)
    return (*KIND_NAMES, *sorted(others))


def _from_zero(steps: np.ndarray) -> np.ndarray:
    """Return what belongs to steps at their ends, with zero at the start."""
    return np.concatenate([np.zeros((1, *steps.shape[1:])), steps])


def _places(names: np.ndarray, family: tuple[str, ...]) -> np.ndarray:
    """Return the number of each name in its family."""
    found, inverse = np.unique(names, return_inverse=True)
    return np.array([family.index(str(name)) for name in found], dtype=np.int64)[inverse]


@dataclasses.dataclass(frozen=True, eq=False)
class _Recorder(NodeValues):
    """Node values that ask the true q_dot and remember every state they were asked for."""

    true_rate: Callable
    seen: dict[bytes, tuple[np.ndarray, np.ndarray]] = dataclasses.field(default_factory=dict)

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        made = self.true_rate(q, v)
        for state, q_dot in zip(np.concatenate([q, v], axis=1), made, strict=True):
            self.seen.setdefault(state.tobytes(), (state, q_dot))
        return made


def _rates(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the states (q, v) at which dense output needs q_dot, and q_dot there."""
    nq, nv = solution.q.shape[1], solution.v.shape[1]
    if solution.system.q_dot is None:
        return np.zeros((0, nq + nv)), np.zeros((0, nq))
    if isinstance(solution._model, NodeValues):
        return solution._model.states, solution._model.rates
    empty = np.zeros(0)
    recorder = _Recorder(empty, empty, None, empty, empty, solution._rate)
    asked = dataclasses.replace(solution, _model=recorder)
    parts, inner = 1, solution.scheme
    while hasattr(inner, "scheme"):  # a wrapper splits its steps in two
        parts, inner = 2 * parts, inner.scheme
    start, h = solution.t[:-1], np.diff(solution.t)
    if solution._extra is not None:
        kept = solution._extra[1:, 3] > 0.0
        start, h = start[kept], h[kept]
    asked((start[:, None] + (np.arange(parts) + 0.5) / parts * h[:, None]).ravel())
    if not recorder.seen:
        return np.zeros((0, nq + nv)), np.zeros((0, nq))
    states, rates = zip(*recorder.seen.values(), strict=True)
    return np.array(states), np.array(rates)


# ---- reading


def _solution(content: Content) -> Solution:
    arrays, about = content.arrays, content.about
    t, described, event_names = arrays["t"], about["system"], tuple(about.get("events", ()))
    kinds = tuple(about.get("kinds", KIND_NAMES))
    values = NodeValues(t, arrays["kinetic_energy"], arrays.get("gap"), arrays["dense/state"], arrays["dense/q_dot"])
    system = StoredSystem(
        described["name"],
        tuple(StoredContact(*contact) for contact in described["contacts"]),
        tuple(StoredJoint(name) for name in described["joints"]),
        values.rate if described["q_dot"] else None,
    )
    try:
        scheme = rebuild(about["scheme"]["description"])
    except (SettingError, TypeError):  # of somebody's own, or with settings of a later version
        kind = StoredForceScheme if about["scheme"].get("reaction") else StoredScheme
        scheme = kind(about["scheme"]["name"], about["scheme"]["description"])
    return read_only(
        Solution(
            t=t,
            q=arrays["q"],
            v=arrays["v"],
            events=_events(arrays, (*system.contact_names, *event_names), kinds),
            work=about["work"],
            status=Status(about["status"]),
            message=about["message"],
            system=system,
            scheme=scheme,
            rows=tuple((name, axis) for name, axis in about["rows"]),
            exact=None,
            name=about["name"],
            _model=values,
            # older files know the ends of steps only
            _ledger=np.column_stack([arrays.get("certificate/ends", arrays["violation"]), arrays["work_since"]]),
            _certificate=arrays.get("certificate/inside"),
            _extra=arrays.get("extra/table"),
            _reactions=arrays["reactions/table"],
            _dense=arrays["dense/block"],
            _before=arrays["reactions/before"],
            _forces=arrays.get("reactions/force"),
            event_names=event_names,
            verification=_verification(about.get("verification"), arrays),
            _asked=_asked(about.get("asked"), event_names),
            **_known({"switches": _switches(about.get("switches"), arrays)}),
        )
    )


def _known(optional: dict[str, np.ndarray | None]) -> dict[str, np.ndarray]:
    """Return those tables that both the file and Solution have."""
    fields = {field.name for field in dataclasses.fields(Solution)}
    return {name: table for name, table in optional.items() if name in fields and table is not None}


def _switches(given: dict[str, Any] | None, arrays: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return the table of switches (t, name); older files have none."""
    if given is None or SWITCHES[0] not in arrays:
        return None
    t, places = (arrays[name] for name in SWITCHES)
    table = np.zeros(len(t), dtype=[("t", float), ("name", given["type"])])
    table["t"], table["name"] = t, np.array(given["names"] or [""])[places]
    return table


def _asked(given: dict[str, Any] | None, event_names: tuple[str, ...]) -> Asked | None:
    """Return what `solve` was asked; older files do not say it."""
    if given is None:
        return None
    try:
        control = rebuild(given["control"])
    except (SettingError, TypeError):
        control = None
    return Asked(
        (given["t_span"][0], given["t_span"][1]), np.array(given["q0"]), np.array(given["v0"]), given["h"], control,
        tuple(given["breaks"]), given["start_tolerance"], None if event_names else (),
    )  # fmt: skip


def _verification(given: dict[str, Any] | None, arrays: dict[str, np.ndarray]) -> Verification | None:
    """Return the verification of a file; words of later versions are passed over."""
    if given is None:
        return None
    known = {f.name for f in dataclasses.fields(Verification)}
    words = {name: value for name, value in given.items() if name in known}
    parting = given["parting"]
    if parting is not None:
        names = {f.name for f in dataclasses.fields(Parting)}
        words["parting"] = Parting(**{name: value for name, value in parting.items() if name in names})
    words["undecided"] = tuple((t, contact, kind) for t, contact, kind in given["undecided"])
    return Verification(**words, t=arrays["verification/t"], growth=arrays["verification/growth"])


def _events(arrays: dict[str, np.ndarray], names: tuple[str, ...], kinds: tuple[str, ...]) -> np.ndarray:
    table = np.zeros(len(arrays["events/t"]), dtype=event_type(names))
    table["t"] = arrays["events/t"]
    table["contact"] = np.array(names or ("",))[arrays["events/contact"]]
    longest = event_type(names)["kind"].itemsize // np.dtype("U1").itemsize
    named = [kind if len(kind) <= longest else UNKNOWN_KIND for kind in kinds]
    table["kind"] = np.array([*named, UNKNOWN_KIND])[np.minimum(arrays["events/kind"], len(named))]
    for name in EVENT_VECTORS:
        table[name] = arrays[f"events/{name}"]
    table["count"] = arrays.get("events/count", 1)  # older files have one row per impact
    table["energy"] = arrays.get("events/energy", 0.0)
    return table
