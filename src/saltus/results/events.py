"""The table of events: a structured array that also answers by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    import pandas

KINDS_OF_LOSS = ("impact",)  # rows whose `energy` is what that contact took
AXES_OF_EVENTS = ("N", "T1", "T2")
UNITS_OF_EVENTS = {"t": "s", "u_minus": "m/s", "u_plus": "m/s", "impulse": "N s", "energy": "J"}


class EventTable(np.ndarray):
    """Events of a run, one row each: a structured numpy array, `table["t"]`, `table[table["kind"] == "impact"]`.

    `of` picks rows by name, `summary` counts them, `to_pandas` gives a DataFrame.
    """

    groups: Mapping[str, tuple[str, ...]]

    def __array_finalize__(self, source: Any) -> None:
        self.groups = getattr(source, "groups", {})

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        # a column is no table
        return found.view(np.ndarray) if isinstance(found, EventTable) and found.dtype.names is None else found

    def __reduce__(self) -> Any:
        maker, arguments, state = super().__reduce__()  # pyright: ignore[reportAssignmentType]
        return maker, arguments, (state, dict(self.groups))

    def __setstate__(self, state: Any) -> None:
        held, self.groups = state if len(state) == 2 else (state, {})
        super().__setstate__(held)

    def of(self, *names: str) -> EventTable:
        """Return the rows of contacts, joints with clearance, events of the user or kinds; all of them together.

        `of("floor")` has everything that happened at a contact, `of("impact")` all impacts, `of("pin", "impact")` those
        of one of them: rows have to fit one of the names of each sort.
        """
        picked: dict[str, np.ndarray] = {}
        for name in names:
            sort, rows = self._picked(name)
            picked[sort] = picked.get(sort, False) | rows
        chosen = np.ones(len(self), dtype=bool)
        for rows in picked.values():
            chosen &= rows
        return self[chosen]

    def _picked(self, name: str) -> tuple[str, np.ndarray]:
        from saltus.memory.record import KIND_NAMES

        if name in self.groups:
            return "contact", np.isin(self["contact"], self.groups[name])
        if name in KIND_NAMES or np.any(self["kind"] == name):
            return "kind", self["kind"] == name
        if np.any(self["contact"] == name):
            return "contact", self["contact"] == name
        known = ", ".join(repr(one) for one in (*self.groups, *KIND_NAMES))
        raise SettingError(f"no events are called {name!r}: the contacts, events and kinds are {known}")

    def summary(self) -> Summary:
        """Return what happened at every contact: counts of kinds, first and last time, fastest approach, loss."""
        names = [name for name, members in self.groups.items() if members == (name,)]
        names += [str(name) for name in np.unique(self["contact"]) if name not in names]
        return Summary(tuple(_counted(name, self[self["contact"] == name]) for name in names))

    def _repr_html_(self) -> str:
        from saltus.results.html import events_html

        return events_html(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame, one column per number: u_minus_N, u_minus_T1, ...; `frame.attrs["units"]` has units."""
        try:
            import pandas
        except ImportError as missing:
            raise MissingExtraError("a DataFrame needs pandas: pip install pandas") from missing
        columns, units = {}, {}
        for name in self.dtype.names or ():
            values = self[name]
            parts = (
                {f"{name}_{axis}": values[:, i] for i, axis in enumerate(AXES_OF_EVENTS)}
                if values.ndim == 2
                else {name: values}
            )
            for label, column in parts.items():
                columns[label] = column.astype(object) if column.dtype.kind == "U" else column
                if name in UNITS_OF_EVENTS:
                    units[label] = UNITS_OF_EVENTS[name]
        made = pandas.DataFrame(columns)
        made.attrs["units"] = units
        return made


@dataclasses.dataclass(frozen=True)
class Happened:
    """What happened at one contact, or how often an event of the user came.

    Attributes
    ----------
    name, kinds
        The contact and how many rows of each kind it has.
    impacts
        Number of impacts, those of accumulations included.
    first, last
        Times of the first and the last row [s]; nan where there is none.
    fastest
        Largest speed of approach of an impact [m/s].
    impulse
        Sum of the normal impulses of its impacts [N s].
    loss
        Energy that its impacts took [J], without accumulations.
    """

    name: str
    kinds: dict[str, int]
    impacts: int
    first: float
    last: float
    fastest: float
    impulse: float
    loss: float


def _counted(name: str, rows: np.ndarray) -> Happened:
    kinds, counts = np.unique(rows["kind"], return_counts=True)
    struck = rows[np.isin(rows["kind"], ("impact", "zeno"))]  # rows with an impulse of their own
    lost = rows["energy"][np.isin(rows["kind"], KINDS_OF_LOSS)]
    return Happened(
        name=name,
        kinds={str(kind): int(count) for kind, count in zip(kinds, counts, strict=True)},
        impacts=int(struck["count"].sum()),
        first=float(rows["t"].min()) if len(rows) else np.nan,
        last=float(rows["t"].max()) if len(rows) else np.nan,
        fastest=float(np.max(-struck["u_minus"][:, 0], initial=0.0)),
        impulse=float(struck["impulse"][:, 0].sum()),
        loss=float(-lost.sum()),
    )


@dataclasses.dataclass(frozen=True)
class Summary:
    """What happened at every contact of a run; prints as a table."""

    contacts: tuple[Happened, ...]

    def __getitem__(self, name: str) -> Happened:
        for one in self.contacts:
            if one.name == name:
                return one
        raise SettingError(f"there is no contact {name!r}: {', '.join(repr(one.name) for one in self.contacts)}")

    def __str__(self) -> str:
        head = ("contact", "impacts", "other events", "first [s]", "last [s]", "fastest [m/s]", "sum [N s]", "loss [J]")
        lines = [head, *(_line(one) for one in self.contacts)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        made = [
            "  ".join(
                text.ljust(width) if i in (0, 2) else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join(line.rstrip() for line in made)

    __repr__ = __str__


def _line(one: Happened) -> tuple[str, ...]:
    others = ", ".join(f"{count} {kind}" for kind, count in one.kinds.items() if kind != "impact")
    times = ("-", "-") if not one.kinds else (f"{one.first:.6g}", f"{one.last:.6g}")
    numbers = (f"{one.fastest:.4g}", f"{one.impulse:.4g}", f"{one.loss:.4g}")
    return (one.name, f"{one.impacts}", others or "-", *times, *(numbers if one.impacts else ("-",) * 3))


def event_table(
    table: np.ndarray, contacts: Sequence[str], events: Sequence[str], joints: Mapping[str, tuple[str, ...]]
) -> EventTable:
    """Return a table that knows its names: contacts, events of the user, and joints or pairs with their contacts."""
    made = table.view(EventTable)
    made.groups = {**{name: (name,) for name in (*contacts, *events)}, **joints}
    return made
