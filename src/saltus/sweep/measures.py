"""Measures: what is kept of every run of a sweep. Each says what the loop reduces, and reads it back by name.

Section rows hold t, the velocities and the impulse of an impact, and q and v behind it. States between events are never
kept: whatever must be seen between them is an event.
"""

from __future__ import annotations

import dataclasses
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from saltus.ensemble.engine import Reduced
from saltus.ensemble.own import OwnReducer
from saltus.ensemble.records import COUNTS, WORST
from saltus.ensemble.reduce import ACTION, EXTREMES, REDUCED, STATISTICS
from saltus.errors import SettingError
from saltus.event import Event
from saltus.memory.record import COLUMN
from saltus.parameters import given

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel

Columns = dict[str, tuple[tuple[str, ...], np.ndarray, str]]  # name -> dimensions behind the run, values, unit


@dataclasses.dataclass(frozen=True)
class Watch:
    """A reducer: what it looks at, what it does, how many numbers it fills (ensemble/reduce.py)."""

    kind: int
    which: int
    action: int
    size: int
    room: int = 0
    argument: int = 0
    single: bool = False  # whether it must see every step
    own: Any = None  # of the user: what is traced


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a measure knows of the model and of the runs when it is read."""

    model: CompiledModel
    reduced: Reduced
    spans: np.ndarray
    sections: dict[str, np.ndarray]  # rows of the strobe, oldest first, where there is one


class Measure(Protocol):
    """What is kept of every run."""

    def events(self, system: Any) -> tuple[Event, ...]:
        """Return events that must be found for it."""
        ...

    def watches(self, model: CompiledModel) -> list[Watch]:
        """Return its reducers."""
        ...

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        """Return its values by name; parts: the numbers of each reducer, one row per run."""
        ...


class _Plain:
    """A measure without events or reducers, unless it says so."""

    needs_energy = False

    def events(self, system) -> tuple[Event, ...]:
        return ()

    def watches(self, model: CompiledModel) -> list[Watch]:
        return []

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        return {}


def contact_number(model: CompiledModel, name: str | None) -> int:
    """Return the number of a contact; -1 for all of them."""
    names = model.system.contact_names
    if name is None:
        return -1
    if name not in names:
        raise SettingError(f"there is no contact {name!r}: there are {', '.join(map(repr, names)) or 'none'}")
    return names.index(name)


def event_number(model: CompiledModel, name: str) -> int:
    """Return the number of an event of the user."""
    names = model.event_names
    if name not in names:
        raise SettingError(f"there is no event {name!r}: there are {', '.join(map(repr, names)) or 'none'}")
    return names.index(name)


# ---- sections


def section_size(model: CompiledModel, room: int) -> int:
    """Return the numbers of a section of so many rows."""
    return 1 + room * (COLUMN.all + int(model.layout.nq + model.layout.nv))


def section_rows(part: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many crossings each run had, and the rows of the last ones, oldest first, NaN where there are none."""
    runs = len(part)
    count, rows = part[:, 0].astype(int), part[:, 1:].reshape(runs, room, -1)
    first = np.where(count > room, count % room, 0)
    order = (first[:, None] + np.arange(room)) % room
    return count, rows[np.arange(runs)[:, None], order]


def _section_columns(name: str, part: np.ndarray, room: int, model: CompiledModel, impact: bool) -> Columns:
    nq = int(model.layout.nq)
    count, rows = section_rows(part, room)
    made: Columns = {
        f"{name}count": ((), count, ""),
        f"{name}t": (("point",), rows[:, :, COLUMN.t], "s"),
        f"{name}q": (("point", "coordinate"), rows[:, :, COLUMN.all : COLUMN.all + nq], ""),
        f"{name}v": (("point", "velocity"), rows[:, :, COLUMN.all + nq :], ""),
    }
    if impact:
        made[f"{name}u_minus"] = (("point",), rows[:, :, COLUMN.before], "m/s")
        made[f"{name}u_plus"] = (("point",), rows[:, :, COLUMN.after], "m/s")
        made[f"{name}impulse"] = (("point",), rows[:, :, COLUMN.impulse], "N s")
    return made


Length = "float | np.ndarray | Callable[..., Any]"


@dataclasses.dataclass(frozen=True)
class Strobe(_Plain):
    """The state at every period of the forcing, behind the transient: t = begin + k period.

    period [s] is a number, one per run, or a function: without arguments it reads Parameters (`lambda: 2 * pi / p.w`),
    with arguments it takes the swept values of these names (`lambda w: 2 * pi / w`). Steps end at these times, as
    `breaks` does in `solve`.
    """

    period: Any

    def watches(self, model: CompiledModel, room: int = 0) -> list[Watch]:
        return [Watch(REDUCED.strobe, 0, ACTION.section, section_size(model, room), room)]

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        room = _room_of(parts[0], seen.model)
        return _section_columns("", parts[0], room, seen.model, impact=False)


@dataclasses.dataclass(frozen=True)
class Impacts(_Plain):
    """The last impacts of a contact behind the transient: times, velocities of the contact, impulse, and the state.

    contact is its name, None for all contacts; `most` of the last impacts are kept. Accumulations inside of a step have
    no state, NaN. In a bifurcation diagram, period
    [s] is that of the forcing, in which transient and kept time are counted (see `Strobe`).
    """

    contact: str | None = None
    most: int = 64
    period: Any = None

    def __post_init__(self):
        positive_whole(self.most, "most of Impacts")

    def watches(self, model: CompiledModel) -> list[Watch]:
        which = contact_number(model, self.contact)
        return [Watch(REDUCED.impacts, which, ACTION.section, section_size(model, self.most), self.most, single=True)]

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        return _section_columns("impact_", parts[0], self.most, seen.model, impact=True)


@dataclasses.dataclass(frozen=True)
class Events(_Plain):
    """The last crossings of an event of the user, by its name: times and states (see `Impacts`)."""

    event: str
    most: int = 64
    period: Any = None

    def __post_init__(self):
        positive_whole(self.most, "most of Events")

    def watches(self, model: CompiledModel) -> list[Watch]:
        which = event_number(model, self.event)
        return [Watch(REDUCED.events, which, ACTION.section, section_size(model, self.most), self.most, single=True)]

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        return _section_columns("event_", parts[0], self.most, seen.model, impact=False)


def _room_of(part: np.ndarray, model: CompiledModel) -> int:
    return (part.shape[1] - 1) // (COLUMN.all + int(model.layout.nq + model.layout.nv))


# ---- numbers


@dataclasses.dataclass(frozen=True)
class ImpactStatistics(_Plain):
    """Number, impulses and approach speeds of the impacts of a contact, None: of all contacts together.

    An accumulation of impacts counts as many as it stands for; its impulse is that of all of them, its speed that of
    the first one.
    """

    contact: str | None = None

    def watches(self, model: CompiledModel) -> list[Watch]:
        return [Watch(REDUCED.impacts, contact_number(model, self.contact), ACTION.statistics, STATISTICS.size)]

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        prefix = "" if self.contact is None else f"{self.contact.replace(' ', '_')}_"
        column = dict(zip(STATISTICS.names, parts[0].T, strict=True))
        return {
            f"{prefix}impacts": ((), column["impacts"], ""),
            f"{prefix}impulse_sum": ((), column["impulse_sum"], "N s"),
            f"{prefix}impulse_max": ((), column["impulse_max"], "N s"),
            f"{prefix}speed_max": ((), column["speed_max"], "m/s"),
            f"{prefix}t_first": ((), column["t_first"], "s"),
            f"{prefix}t_last": ((), column["t_last"], "s"),
        }


@dataclasses.dataclass(frozen=True)
class FirstPassage(_Plain):
    """Time of the first impact of a contact, or of the first crossing of an event, by name; NaN where there is none."""

    of: str

    def watches(self, model: CompiledModel) -> list[Watch]:
        size = 1 + int(model.layout.nq + model.layout.nv)
        if self.of in model.event_names:
            return [Watch(REDUCED.events, event_number(model, self.of), ACTION.passage, size)]
        return [Watch(REDUCED.impacts, contact_number(model, self.of), ACTION.passage, size)]

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        return {f"{self.of.replace(' ', '_')}_passage": ((), parts[0][:, 0], "s")}


@dataclasses.dataclass(frozen=True)
class Extremes(_Plain):
    """Smallest and largest value of a coordinate, by number or name.

    For schemes that locate events, the places where its velocity vanishes are found as events, so that the values are
    exact; others see the ends of their steps. Behind a transient, values count from the first end of a step on.
    """

    coordinate: int | str

    def place(self, system) -> int:
        """Return the number of the coordinate."""
        names: tuple[str, ...] = tuple(system.coordinates or ())
        if isinstance(self.coordinate, str):
            if self.coordinate not in names:
                raise SettingError(f"there is no coordinate {self.coordinate!r}: give its number, counted from 0")
            return names.index(self.coordinate)
        return positive_whole(self.coordinate, "coordinate of Extremes", 0)

    def events(self, system) -> tuple[Event, ...]:
        i = self.place(system)
        name = f"turn of q[{i}]"
        if system.q_dot is not None:
            return (Event(lambda t, q, v: system.q_dot(q, v)[i], name=name),)
        return (Event(lambda t, q, v: v[i], name=name),)

    def watches(self, model: CompiledModel) -> list[Watch]:
        i = self.place(model.system)
        moving = next((event for event in model.events if event.reset is not None), None)
        if moving is not None:
            raise SettingError(
                f"Extremes({self.coordinate!r}) sees no state before a reset, and event {moving.name!r} has one: take "
                "solve() and the coordinate, or a Reduce of your own"
            )
        if not 0 <= i < int(model.layout.nq):
            raise SettingError(f"Extremes({self.coordinate!r}): the model has coordinates 0 to {model.layout.nq - 1}")
        return [Watch(REDUCED.steps, 0, ACTION.extremes, EXTREMES.size, argument=i, single=True)]

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        i, column = self.place(seen.model.system), dict(zip(EXTREMES.names, parts[0].T, strict=True))
        name = self.coordinate if isinstance(self.coordinate, str) else f"q{i}"
        # the start counts as well, unless a transient is left out
        start, begin = seen.reduced.starts[:, i], seen.spans[:, 0]
        whole = seen.spans[:, 3] <= begin
        low = np.where(whole & (start < column["low"]), start, column["low"])
        high = np.where(whole & (start > column["high"]), start, column["high"])
        found = np.isfinite(low)
        return {
            f"{name}_min": ((), np.where(found, low, np.nan), ""),
            f"{name}_max": ((), np.where(found, high, np.nan), ""),
        }


@dataclasses.dataclass(frozen=True)
class Period(_Plain):
    """Periods of the forcing after which the motion repeats itself, of the last sections of a strobe; 0 for none.

    The smallest p up to `most` for which states p sections apart differ by less than `tolerance`, relative to
    1 + the largest state, over all sections that are kept (at least p pairs of them).
    """

    most: int = 32
    tolerance: float = 1e-6

    def __post_init__(self):
        positive_whole(self.most, "most of Period")
        if not self.tolerance > 0.0:
            raise SettingError(f"tolerance of Period is {self.tolerance!r}: it must be positive")

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        if "strobe" not in seen.sections:
            raise SettingError("Period() needs sections: give section=Strobe(period)")
        rows = seen.sections["strobe"][:, :, COLUMN.all :]
        runs, count = rows.shape[:2]
        scale = 1.0 + np.max(np.abs(rows), axis=(1, 2), initial=0.0)
        period = np.zeros(runs, dtype=int)
        for p in range(min(self.most, count // 2), 0, -1):
            apart = np.max(np.abs(rows[:, p:] - rows[:, :-p]), axis=(1, 2))
            period = np.where(apart <= self.tolerance * scale, p, period)  # NaN repeats nothing
        return {"period": ((), period, "")}


WORST_NAMES = ("residual", "violation", "admissibility", "defect")


class Worst(_Plain):
    """The largest of a run, by name: residual, violation [m], admissibility, and defect, of the energy [J].

    They mean what they mean in a `Solution`, seen where the run itself looked: schemes that locate events look inside
    of their steps, time steppings at the ends of theirs. A `Solution` looks at more places (`solve(k)`). The
    defect is what the scheme gained or lost over the whole run.
    """

    def __init__(self, *names: str):
        self.names = names or WORST_NAMES
        for name in self.names:
            if name not in WORST_NAMES:
                raise SettingError(f"Worst({name!r}): there are {', '.join(WORST_NAMES)}")
        self.needs_energy = "defect" in self.names

    def __repr__(self) -> str:
        return f"Worst({', '.join(map(repr, self.names))})"

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        worst = dict(zip(WORST.names, seen.reduced.worst.T, strict=True))
        load = np.where(worst["load"] > 0.0, worst["load"], 1.0)
        made: Columns = {
            "residual": ((), np.maximum(worst["residual"], worst["defect"]), ""),
            "violation": ((), np.maximum(worst["end_violation"], worst["violation"]), "m"),
            "admissibility": ((), worst["excess"] / load, ""),
            "defect": ((), worst["kinetic"] - worst["kinetic_0"] - worst["work"] + worst["dissipation"], "J"),
        }
        return {name: made[name] for name in self.names}


def common(model: CompiledModel, reduced: Reduced) -> Columns:
    """Return what every sweep holds: status, steps, and the state at the end."""
    nq = int(model.layout.nq)
    counts = dict(zip(COUNTS.names, reduced.counts.T, strict=True))
    return {
        "status": ((), reduced.status, ""),
        "steps": ((), counts["steps"], ""),
        "t_end": ((), reduced.ends[:, 0], "s"),
        "q_end": (("coordinate",), reduced.ends[:, 1 : 1 + nq], ""),
        "v_end": (("velocity",), reduced.ends[:, 1 + nq :], ""),
    }


# ---- lengths of time, one per run


def times_of(value: Any, name: str, table: Mapping[str, np.ndarray], first: Mapping[str, Any], runs: int) -> np.ndarray:
    """Return a time of every run: from a number, numbers, or a function of the swept values (see `Strobe`)."""
    if callable(value):
        wanted = list(inspect.signature(value).parameters)
        columns = {**{key: np.asarray(one) for key, one in first.items()}, **table}
        missing = [key for key in wanted if key not in columns]
        if missing:
            raise SettingError(f"{name} takes {missing[0]!r}, which is neither swept nor a parameter of the model")
        with given({**first, **table}):
            value = value(**{key: columns[key] for key in wanted})
    try:
        made = np.broadcast_to(np.asarray(value, dtype=float), (runs,)).copy()
    except (TypeError, ValueError):
        raise SettingError(
            f"{name} is {value!r:.80}: give a time [s], one per run, or a function of the parameters"
        ) from None
    if not np.all(np.isfinite(made)):
        raise SettingError(f"{name} is {made[~np.isfinite(made)][0]} in run {int(np.argmin(np.isfinite(made)))}")
    return made


def positive_whole(value: Any, name: str, least: int = 1) -> int:
    """Return a count."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise SettingError(f"{name} is {value!r}: it must be a whole number of at least {least}")
    return int(value)


def listed(measures: Any) -> tuple[Measure, ...]:
    """Return measures as a tuple; one alone is a list of one."""
    made = tuple(measures) if isinstance(measures, Sequence) else (measures,)
    for one in made:
        if isinstance(one, type) or not hasattr(one, "read") or not hasattr(one, "watches"):
            raise SettingError(f"measures has {one!r}: give measures such as ImpactStatistics('stop')")
    return made


@dataclasses.dataclass(frozen=True)
class Reduce(_Plain):
    """A reducer of your own: a function that is called again and again and returns its new memory.

    Parameters
    ----------
    function
        (t, q, v, memory) -> memory, or (t, q, v, event, memory) -> memory, where event has t, u_minus, u_plus, impulse
        (normal, tangential 1 and 2) and impacts. It is traced: arithmetic, numpy functions, np.where, comparisons.
    memory
        What the memory is at first, one or several numbers.
    at
        "steps": at the end of every step; "impacts" of all contacts; "strobe"; or the name of a contact or event.
    name
        That of the result.
    """

    function: Callable
    memory: Any = 0.0
    at: str = "steps"
    name: str = "reduced"

    def watches(self, model: CompiledModel) -> list[Watch]:
        if model.in_units:
            raise SettingError(
                "Reduce() cannot see contacts with several frictions: their rows have units of their own"
            )
        memory = tuple(float(one) for one in np.atleast_1d(np.asarray(self.memory, dtype=float)))
        if not memory:
            raise SettingError(f"memory of Reduce {self.name!r} is empty: give one or several numbers")
        own = OwnReducer(self.function, memory, self.name)
        kind, which = {
            "steps": (REDUCED.steps, 0),
            "impacts": (REDUCED.impacts, -1),
            "strobe": (REDUCED.strobe, 0),
        }.get(self.at, (-1, 0))
        if kind < 0 and self.at in model.event_names:
            kind, which = REDUCED.events, event_number(model, self.at)
        elif kind < 0:
            kind, which = REDUCED.impacts, contact_number(model, self.at)
        return [Watch(kind, which, ACTION.own, len(memory), len(memory), single=True, own=own)]

    def read(self, parts: list[np.ndarray], seen: Seen) -> Columns:
        if np.ndim(self.memory) == 0:
            return {self.name: ((), parts[0][:, 0], "")}
        return {self.name: ((f"{self.name}_place",), parts[0], "")}
