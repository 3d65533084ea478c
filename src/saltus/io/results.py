"""Results on disk: a Solution without its model, in the layout that docs/results.md describes."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saltus.certificate import FOUND
from saltus.errors import FileFormatError, FunctionError, SettingError
from saltus.io import words
from saltus.io.format import Content, Variable, read, write
from saltus.io.scene import described as described_scene
from saltus.io.scene import scene_of
from saltus.io.settings import describe, listed, rebuild
from saltus.io.sketch import described as described_sketch
from saltus.io.sketch import sketch_of
from saltus.io.stored import StoredContact, StoredForceScheme, StoredJoint, StoredScheme, StoredSystem
from saltus.io.words import LARGEST_WHOLE, taken
from saltus.memory.record import KIND_NAMES
from saltus.results.events import EventTable
from saltus.results.from_march import event_type
from saltus.results.records import Asked, NodeValues, read_only
from saltus.results.table import CUBIC_PLACES, Table, table_of
from saltus.schemes.traits import Forced
from saltus.solution import Solution
from saltus.status import Status
from saltus.system import run_number
from saltus.verification import REASONS, VERIFIED_QUANTITIES, Parting, Verification
from saltus.view.content import Options, frame_times, frames_of, seen
from saltus.view.frames import FRAME_SIZE
from saltus.view.sketch import Sketch

EVENT_VECTORS = ("u_minus", "u_plus", "impulse")
FINITE_EVENTS = ("events/t", "events/energy", *(f"events/{name}" for name in EVENT_VECTORS))
SWITCH_COLUMNS = "switches/t", "switches/name"  # times at which branches of functions change, and places of their names
UNKNOWN_KIND = "unknown"  # an event of a kind that a later version of saltus knows
LEAST_EXTRAS = 4  # columns: error, degree, offset of the dense block, whether the step was kept; then rejections


@dataclasses.dataclass(frozen=True)
class Column:
    """What a variable of a result is: the names of its dimensions, its unit, whether files may lack it."""

    dims: tuple[str, ...]
    units: str = ""
    later: bool = False  # it came after minor version 0, or not every solution has it
    whole: bool = False  # it holds whole numbers


COLUMNS_OF_FILE = {
    "t": Column(("t",), "s"),
    "q": Column(("t", "coordinate")),
    "v": Column(("t", "velocity")),
    "kinetic_energy": Column(("t",), "J"),
    "violation": Column(("t",), "m"),
    "residual": Column(("t",)),
    "admissibility": Column(("t",), later=True),
    "certificate/ends": Column(("t",), "m", later=True),
    "certificate/inside": Column(("t", "inside_column"), later=True),
    "work_since": Column(("t",), "J"),
    "reactions/table": Column(("reaction", "reaction_column")),
    "reactions/before": Column(("row",), "N s"),
    "reactions/force": Column(("side", "t", "reaction_row"), "N", later=True),
    "reactions/units": Column(("reaction_row",), later=True),
    "dense/block": Column(("dense_entry",)),
    "dense/state": Column(("state", "state_column")),
    "dense/q_dot": Column(("state", "coordinate")),
    "events/t": Column(("event",), "s"),
    "events/contact": Column(("event",), whole=True),
    "events/kind": Column(("event",), whole=True),
    "events/count": Column(("event",), later=True, whole=True),
    "events/energy": Column(("event",), "J", later=True),
    "events/u_minus": Column(("event", "axis"), "m s-1"),
    "events/u_plus": Column(("event", "axis"), "m s-1"),
    "events/impulse": Column(("event", "axis"), "N s"),
    "extra/table": Column(("t", "extra_column"), later=True),
    SWITCH_COLUMNS[0]: Column(("switch",), "s", later=True),
    SWITCH_COLUMNS[1]: Column(("switch",), later=True, whole=True),
    "verification/t": Column(("verification_time",), "s", later=True),
    "verification/growth": Column(("verification_time", "quantity"), later=True),
    "gap": Column(("t", "contact"), "m", later=True),
    "between/t": Column(("piece_end",), "s", later=True),
    "between/gap": Column(("piece", "place", "contact"), "m", later=True),
    "between/kinetic_energy": Column(("piece", "place"), "J", later=True),
    "between/error": Column(("between_quantity",), later=True),
    "contact_frame": Column(("frame", "contact", "frame_column"), later=True),
}
BETWEEN_COLUMNS = tuple(name for name in COLUMNS_OF_FILE if name.startswith("between/"))


def save(solution: Solution, path: str | os.PathLike, source: str | None = None) -> None:
    """Write a solution to a file, see `Solution.save`; source: how to build its problem again, where that is known."""
    variables = _variables(solution)
    write(path, "results", variables, {**_about(solution), "source": source})


def source_of(path: str | os.PathLike) -> str | None:
    """Return how to build the problem of a saved solution again, if the file says it."""
    source = read(path, "results").about.get("source")
    return source if isinstance(source, str) else None


def load(path: str | os.PathLike, *, max_bytes: float | None = None) -> Solution:
    """Read a solution that `Solution.save` wrote; every byte is checked.

    Arrays, events, energy, gaps, plots and `sol(t)` are those of the saved one. The model's functions and the exact
    solution are not in a file: `exact` is None. Nothing of a file is executed, and no other file is read or written.

    Parameters
    ----------
    path
        The file.
    max_bytes
        Size of the largest file that is read, and of what is made from it [bytes]. None: 4 GB.

    Raises
    ------
    FileError
        When there is no such file; FileFormatError when it is not a result of saltus, DamagedFileError when it was
        changed or cut off.
    """
    content = read(path, "results", max_bytes)
    try:
        check_tables(content)
        return _solution(content)
    except ValueError as error:  # of the checks, which name what is wrong
        raise FileFormatError(f"{path} was not written by this format of saltus: {error}") from error


# ---- writing


def _variables(solution: Solution) -> dict[str, Variable]:
    names = (*solution.system.contact_names, *solution.event_names)
    events = solution.events
    verification = solution.verification
    states, rates = _rates(solution)
    made = {
        "t": solution.t,
        "q": solution.q,
        "v": solution.v,
        "kinetic_energy": solution.energy.kinetic,
        "violation": _from_zero(solution.violation),
        "residual": _from_zero(solution.residual),
        "admissibility": _from_zero(solution.admissibility),
        "certificate/ends": solution._ledger[:, 0],
        "certificate/inside": _from_zero(solution._inside),
        "work_since": solution._ledger[:, 1],
        "reactions/table": solution._reactions,
        "reactions/before": solution._before,
        "dense/block": solution._dense,
        "dense/state": states,
        "dense/q_dot": rates,
        "events/t": events["t"],
        "events/contact": _places(events["contact"], names),
        "events/kind": _places(events["kind"], _kinds(events)),
        "events/count": events["count"].astype(np.int64),
        "events/energy": events["energy"],
    }
    for name in EVENT_VECTORS:
        made[f"events/{name}"] = events[name]
    if solution._extra is not None:
        made["extra/table"] = solution._extra
    switches = solution.switches
    made[SWITCH_COLUMNS[0]], made[SWITCH_COLUMNS[1]] = switches["t"], _places(switches["name"], _names(switches))
    if verification is not None:
        made["verification/t"], made["verification/growth"] = verification.t, verification.growth
    if solution._forces is not None:
        made["reactions/force"] = solution._forces
    if solution._units is not None:
        made["reactions/units"] = solution._units
    try:
        made["gap"] = solution.gaps()
    except (FunctionError, SettingError):
        pass  # a gap that fails at some state must not cost the run; the loaded solution says that there are none
    table, frames = table_of(solution), _frames(solution)
    if table is not None:
        made |= dict(zip(BETWEEN_COLUMNS, (table.t, table.gap, table.kinetic, np.array(table.error)), strict=True))
    if frames is not None:
        made["contact_frame"] = frames
    return {
        name: Variable(np.ascontiguousarray(values), COLUMNS_OF_FILE[name].dims, COLUMNS_OF_FILE[name].units)
        for name, values in made.items()
    }


def _frames(solution: Solution) -> np.ndarray | None:
    """Return where the contacts of a mechanism act, for drawings; None where a function of the model fails."""
    try:
        return frames_of(solution) if solution.every_step and len(solution.t) > 1 else None
    except FunctionError:
        return None


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
                [name, float(e), float(mu)]
                for name, (e, mu, _) in zip(system.contact_names, system.laws(solution.parameters or None), strict=True)
            ],
            "frictions": [_frictions(contact, solution.parameters or None) for contact in system.contacts],
            "joints": list(system.joint_names),
            "q_dot": not system.rate_is_velocity,
            "coordinates": None if system.coordinates is None else list(system.coordinates),
            "units": None if system.units is None else list(system.units),
            "scene": _described(system.scene),
        },
        "scheme": {
            "name": scheme.name,
            "description": scheme.description if stored else describe(scheme),
            "reaction": isinstance(scheme, Forced),
        },
        "kinds": list(_kinds(solution.events)),
        "switches": _switch_names(solution.switches),
        "parameters": listed(solution.parameters),
        "asked": None if solution._asked is None else _asked_of(solution._asked),
        "verification": None if solution.verification is None else _verification_of(solution.verification),
    }


def _described(scene: Any) -> dict[str, Any] | None:
    return described_sketch(scene) if isinstance(scene, Sketch) else described_scene(scene)


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


def _switch_names(switches: np.ndarray) -> dict[str, Any]:
    """Return the names of switches and the type that holds them."""
    return {"names": list(_names(switches)), "type": switches["name"].dtype.str}


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

    true_rate: Callable = dataclasses.field(kw_only=True)
    seen: dict[bytes, tuple[np.ndarray, np.ndarray]] = dataclasses.field(default_factory=dict, kw_only=True)

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        made = self.true_rate(q, v)
        for state, q_dot in zip(np.concatenate([q, v], axis=1), made, strict=True):
            self.seen.setdefault(state.tobytes(), (state, q_dot))
        return made


def _rates(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the states (q, v) at which dense output needs q_dot, and q_dot there."""
    nq, nv = solution.q.shape[1], solution.v.shape[1]
    if solution.system.rate_is_velocity:
        return np.zeros((0, nq + nv)), np.zeros((0, nq))
    if isinstance(solution._model, NodeValues):
        return solution._model.states, solution._model.rates
    empty = np.zeros(0)
    recorder = _Recorder(empty, empty, None, empty, empty, true_rate=solution._rate)
    asked = dataclasses.replace(solution, _model=recorder)
    parts, inner = 1, solution.scheme
    while hasattr(inner, "scheme"):  # a wrapper splits its steps in two
        parts, inner = 2 * parts, inner.scheme
    start, h = solution.t[:-1], np.diff(solution.t)
    if solution._extra is not None:
        kept = solution._extra[1:, 3] > 0.0
        start, h = start[kept], h[kept]
    asked((start[:, None] + (np.arange(parts) + 0.5) / parts * h[:, None]).ravel())
    if solution.system.scene is not None and solution.every_step and len(solution.t) > 1:
        seen(asked, Options()).motion()  # a loaded run can be looked at as well
    if not recorder.seen:
        return np.zeros((0, nq + nv)), np.zeros((0, nq))
    states, rates = zip(*recorder.seen.values(), strict=True)
    return np.array(states), np.array(rates)


# ---- reading


def check_tables(content: Content) -> None:
    """Refuse tables of a result that do not belong together, before anything is made of them."""
    arrays, about = content.arrays, content.about
    rows = len(taken(about, "rows", words.many(words.anything)))
    contacts = len(taken(taken(about, "system", words.obj), "contacts", words.many(words.anything)))
    sizes = {
        "row": rows, "contact": contacts, "axis": 3, "side": 2, "inside_column": FOUND.all, "place": len(CUBIC_PLACES),
        "between_quantity": 2, "frame_column": FRAME_SIZE,
        "quantity": len(VERIFIED_QUANTITIES),
    }  # fmt: skip
    for name, column in COLUMNS_OF_FILE.items():
        array = arrays.get(name)
        if array is None:
            if not column.later:
                raise ValueError(f"{name!r} is missing")
            continue
        if array.dtype.kind != ("i" if column.whole else "f"):
            raise ValueError(f"{name!r} holds {array.dtype} instead of {'whole numbers' if column.whole else 'floats'}")
        if array.ndim != len(column.dims):
            raise ValueError(f"{name!r} has the shape {array.shape}, but must have {len(column.dims)} axes")
        for dim, size in zip(column.dims, array.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise ValueError(f"{name!r} has the shape {array.shape}, but there are {sizes[dim]} of {dim!r}")
    nq, nv = sizes["coordinate"], sizes["velocity"]
    joint_rows = sizes["reaction_column"] - 2 - nv - rows - contacts
    if joint_rows < 0 or sizes.get("reaction_row", rows + joint_rows) != rows + joint_rows:
        raise ValueError(f"'reactions/table' has {sizes['reaction_column']} columns, which do not fit {rows} rows")
    if sizes["state_column"] != nq + nv or sizes.get("extra_column", LEAST_EXTRAS) < LEAST_EXTRAS:
        raise ValueError("'dense/state' or 'extra/table' has too few columns")
    _check_values(arrays)
    _check_between(arrays)


def _check_between(arrays: dict[str, np.ndarray]) -> None:
    """Refuse pieces between the times that do not cover the run, or hold no numbers."""
    present = [name for name in BETWEEN_COLUMNS if name in arrays]
    if present and len(present) < len(BETWEEN_COLUMNS):
        raise ValueError(f"{present[0]!r} is there without {', '.join(sorted({*BETWEEN_COLUMNS} - {*present}))}")
    for name in (*present, *(("contact_frame",) if "contact_frame" in arrays else ())):
        if not np.all(np.isfinite(arrays[name])):
            raise ValueError(f"{name!r} holds something that is not a finite number")
    if not present:
        return
    t, run = arrays["between/t"], arrays["t"]
    if len(t) < 2 or len(t) != len(arrays["between/gap"]) + 1 or np.any(np.diff(t) <= 0.0):
        raise ValueError("'between/t' must be increasing times, one more than there are pieces")
    if t[0] != run[0] or t[-1] != run[-1]:
        raise ValueError("'between/t' does not reach from the begin of the run to its end")


def _check_values(arrays: dict[str, np.ndarray]) -> None:
    """Refuse times that turn back, states that are no numbers, and places that lie outside of their tables."""
    t, n = arrays["t"], len(arrays["t"])
    if n == 0 or not np.all(np.isfinite(t)) or np.any(np.diff(t) < 0.0):
        raise ValueError("'t' must be finite numbers that never decrease, at least one")
    for name in ("q", "v", *FINITE_EVENTS, *(name for name in (SWITCH_COLUMNS[0],) if name in arrays)):
        if name in arrays and not np.all(np.isfinite(arrays[name])):
            raise ValueError(f"{name!r} holds something that is not a finite number")
    if np.any(np.diff(arrays["events/t"]) < 0.0):
        raise ValueError("'events/t' must never decrease")
    nodes = arrays["reactions/table"][:, 0]
    if not _are_places(nodes, n - 1) or np.any(np.diff(nodes) <= 0.0):
        raise ValueError("'reactions/table' belongs to times that are not there")
    extra = arrays.get("extra/table")
    if extra is not None:
        offsets, rejections = extra[:, 2], extra[:, 4:5]
        if not _are_places(offsets, len(arrays["dense/block"])) or np.any(np.diff(offsets) < 0.0):
            raise ValueError("'extra/table' refers to dense output that is not there")
        if not _are_places(rejections, LARGEST_WHOLE) or not np.all(np.isfinite(extra[:, 1])):
            raise ValueError("'extra/table' has a degree or a count that is none")
    if np.any(arrays["events/kind"] < 0) or np.any(arrays.get("events/count", np.zeros(0)) < 0):
        raise ValueError("'events' has a kind or a count below zero")


def _are_places(values: np.ndarray, last: float) -> bool:
    """Whether all values are whole numbers from 0 to the last one."""
    return bool(np.all((values >= 0.0) & (values <= last) & (values == np.floor(values))))


def _frictions(contact: Any, values: Any) -> list:
    """Return the numbers of sliding friction of a contact, and that of rolling or None."""
    if isinstance(contact, StoredContact):
        return [list(contact.sliding), contact.mu_r]
    sliding = contact.mu if isinstance(contact.mu, tuple) else (contact.mu,)
    mu_r = None if contact.roll is None else float(run_number(contact.mu_r, values))
    return [[float(run_number(one, values)) for one in sliding], mu_r]


def _system(described: dict[str, Any], nq: int, values: NodeValues) -> StoredSystem:
    """Return the description of a system with nq coordinates, as it stands in the file."""
    contacts = taken(described, "contacts", words.many(words.row(words.text, words.share, words.not_negative)))
    numbers = words.many(words.row(words.many(words.not_negative), words.maybe(words.not_negative)))
    frictions = taken(described, "frictions", numbers, [([mu], None) for _, _, mu in contacts])
    if any(sliding[:1] != [mu] for (_, _, mu), (sliding, _) in zip(contacts, frictions, strict=True)):
        raise ValueError("'frictions' are not those of the contacts")
    system = StoredSystem(
        taken(described, "name", words.maybe(words.text)),
        tuple(
            StoredContact(name, e, mu if len(sliding) == 1 else tuple(sliding), mu_r)
            for (name, e, mu), (sliding, mu_r) in zip(contacts, frictions, strict=True)
        ),
        tuple(StoredJoint(name) for name in taken(described, "joints", words.many(words.text))),
        values.rate if taken(described, "q_dot", words.truth) else None,
        _coordinates(described, "coordinates", nq),
        _coordinates(described, "units", nq),
    )
    scene = taken(described, "scene", words.maybe(words.obj), None)  # older files have none
    names = nq, system.contact_names, system.joint_names
    scene = sketch_of(scene, *names) if scene is not None and "parts" in scene else scene_of(scene, *names)
    return dataclasses.replace(system, scene=scene)


def _solution(content: Content) -> Solution:
    """Return the solution that a file holds."""
    arrays, about = content.arrays, content.about
    described = taken(about, "system", words.obj)
    event_names = taken(about, "events", words.distinct, ())
    values = NodeValues(
        arrays["t"], arrays["kinetic_energy"], arrays.get("gap"), arrays["dense/state"], arrays["dense/q_dot"],
        _table(arrays), arrays.get("contact_frame"),
    )  # fmt: skip
    system = _system(described, arrays["q"].shape[1], values)
    rows = tuple(taken(about, "rows", words.many(words.row(words.text, words.text))))
    if tuple(name for name, _ in itertools.groupby(row[0] for row in rows)) != system.contact_names:
        raise ValueError("'rows' are not those of the contacts, in their order")
    names = (*system.contact_names, *event_names)
    if np.any(arrays["events/contact"] < 0) or np.any(arrays["events/contact"] >= len(names)):
        raise ValueError("'events/contact' has the number of a contact that is not there")
    work = taken(about, "work", words.table(words.count))
    if "steps" not in work:
        raise ValueError("'work' does not count the steps")
    made = read_only(
        Solution(
            t=arrays["t"],
            q=arrays["q"],
            v=arrays["v"],
            events=_events(arrays, names, taken(about, "kinds", words.many(words.text), KIND_NAMES), content.room),
            work=work,
            status=Status(taken(about, "status", words.whole)),
            message=taken(about, "message", words.shown),
            system=system,
            scheme=_scheme(taken(about, "scheme", words.obj)),
            rows=rows,
            exact=None,
            name=taken(about, "name", words.maybe(words.shown)),
            _model=values,
            # older files know the ends of steps only
            _ledger=np.column_stack([arrays.get("certificate/ends", arrays["violation"]), arrays["work_since"]]),
            _certificate=arrays.get("certificate/inside"),
            _extra=arrays.get("extra/table"),
            _reactions=arrays["reactions/table"],
            _dense=arrays["dense/block"],
            _before=arrays["reactions/before"],
            _forces=arrays.get("reactions/force"),
            _units=arrays.get("reactions/units"),
            event_names=event_names,
            switches=_switches(taken(about, "switches", words.maybe(words.obj), None), arrays, content.room),
            verification=_verification(taken(about, "verification", words.maybe(words.obj), None), arrays),
            _asked=_asked(
                taken(about, "asked", words.maybe(words.obj), None),
                event_names,
                taken(about, "parameters", words.table(words.numbers), {}),  # older files have none
            ),
        )
    )
    if values.frames is not None and len(values.frames) != len(frame_times(made)):
        raise ValueError("'contact_frame' does not belong to the times of the run")
    return made


def _table(arrays: dict[str, np.ndarray]) -> Table | None:
    """Return gaps and kinetic energies between the times; older files have none."""
    if BETWEEN_COLUMNS[0] not in arrays:
        return None
    t, gap, kinetic, error = (arrays[name] for name in BETWEEN_COLUMNS)
    return Table(t, gap, kinetic, (float(error[0]), float(error[1])))


def _coordinates(described: dict[str, Any], name: str, nq: int) -> tuple[str, ...] | None:
    """Return the names or units of the coordinates; older files have none."""
    listed = taken(
        described, name, words.maybe(words.distinct if name == "coordinates" else words.many(words.text)), None
    )
    if listed is not None and len(listed) != nq:
        raise ValueError(f"there are {len(listed)} {name}, but {nq} coordinates")
    return None if listed is None else tuple(listed)


def _scheme(given: dict[str, Any]) -> Any:
    """Return the scheme of a result, or its name and settings where it is not part of this version of saltus."""
    name, description = taken(given, "name", words.text), taken(given, "description", words.anything)
    try:
        return rebuild(description, "scheme")
    except SettingError:  # of somebody's own, or with settings of a later version
        kind = StoredForceScheme if taken(given, "reaction", words.truth, False) else StoredScheme
        return kind(name, description)


def _switches(given: dict[str, Any] | None, arrays: dict[str, np.ndarray], room: int) -> np.ndarray:
    """Return the table of switches (t, name); older files have none."""
    if given is None or SWITCH_COLUMNS[0] not in arrays or SWITCH_COLUMNS[1] not in arrays:
        return np.zeros(0, dtype=[("t", float), ("name", "U1")])
    t, places = (arrays[name] for name in SWITCH_COLUMNS)
    names = taken(given, "names", words.many(words.text)) or [""]
    if np.any(places < 0) or np.any(places >= len(names)):
        raise ValueError("'switches/name' has the number of a name that is not there")
    form = taken(given, "type", words.text)
    if not re.fullmatch(r"[<>|]U[0-9]{1,6}", form):
        raise ValueError(f"switches have names of type {form!r:.100}")
    kind = np.dtype([("t", float), ("name", f"U{form[2:]}")])
    longest = max(kind.itemsize, *(np.dtype("U1").itemsize * len(name) for name in names))
    _check_room("switches", (len(names) + len(t)) * longest, room)
    table = np.zeros(len(t), dtype=kind)
    table["t"], table["name"] = t, np.array(names)[places]
    return table


def _check_room(name: str, size: int, room: int) -> None:
    if size > room:
        raise ValueError(f"{name!r} would take {size} bytes, because a name is very long; allow it by max_bytes=")


def _asked(given: dict[str, Any] | None, event_names: tuple[str, ...], parameters: dict[str, Any]) -> Asked | None:
    """Return what `solve` was asked; older files do not say it."""
    if given is None:
        return None
    try:
        control = rebuild(taken(given, "control", words.anything), "control")
    except SettingError:
        control = None
    return Asked(
        taken(given, "t_span", words.row(words.finite, words.finite)),
        np.array(taken(given, "q0", words.many(words.finite)), dtype=float),
        np.array(taken(given, "v0", words.many(words.finite)), dtype=float),
        taken(given, "h", words.positive),
        control,
        tuple(taken(given, "breaks", words.many(words.finite))),
        taken(given, "start_tolerance", words.number),
        None if event_names else (),
        parameters,
    )


def _verification(given: dict[str, Any] | None, arrays: dict[str, np.ndarray]) -> Verification | None:
    """Return the verification of a file; words of later versions are passed over."""
    if given is None:
        return None
    if "verification/t" not in arrays or "verification/growth" not in arrays:
        raise ValueError("the curves of the verification are missing")
    said = taken(given, "parting", words.maybe(words.obj))
    parting = None
    if said is not None:
        texts = (taken(said, name, words.text) for name in ("contact", "kind", "why"))
        parting = Parting(taken(said, "t", words.finite), *texts, taken(said, "rate", words.maybe(words.number), None))
        if parting.why not in REASONS:
            raise ValueError(f"the runs part for a reason that is none, {parting.why!r:.100}")
    errors, ratios = (taken(given, name, words.table(words.number)) for name in ("errors", "ratios"))
    if not set(VERIFIED_QUANTITIES) <= errors.keys() & ratios.keys():
        raise ValueError("the verification lacks a quantity")
    return Verification(
        by=taken(given, "by", words.text),
        tolerance=taken(given, "tolerance", words.number),
        promised=taken(given, "promised", words.truth),
        errors=errors,
        ratios=ratios,
        **{name: taken(given, name, words.number) for name in ("begin", "until", "end")},
        parting=parting,
        undecided=tuple(taken(given, "undecided", words.many(words.row(words.number, words.text, words.text)))),
        note=taken(given, "note", words.text),
        t=arrays["verification/t"],
        growth=arrays["verification/growth"],
    )


def _events(arrays: dict[str, np.ndarray], names: tuple[str, ...], kinds: Sequence[str], room: int) -> EventTable:
    kind = event_type(names)
    _check_room("events", (len(names) + len(arrays["events/t"])) * kind.itemsize, room)
    table = np.zeros(len(arrays["events/t"]), dtype=kind)
    table["t"] = arrays["events/t"]
    table["contact"] = np.array(names or ("",))[arrays["events/contact"]]
    longest = kind["kind"].itemsize // np.dtype("U1").itemsize
    named = [kind if len(kind) <= longest else UNKNOWN_KIND for kind in kinds]
    table["kind"] = np.array([*named, UNKNOWN_KIND])[np.minimum(arrays["events/kind"], len(named))]
    for name in EVENT_VECTORS:
        table[name] = arrays[f"events/{name}"]
    table["count"] = arrays.get("events/count", 1)  # older files have one row per impact
    table["energy"] = arrays.get("events/energy", 0.0)
    return table.view(EventTable)
