"""From parameters and starts, as arrays, to rows of an engine: which numbers differ from run to run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.build.model import EVERYWHERE
from saltus.compile.par_layout import ParLayout
from saltus.ensemble.engine import Engine, Rows
from saltus.errors import ModelError, SettingError
from saltus.flight.promise import start_of
from saltus.parameters import Parameter
from saltus.system import System

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel

LETTERS = ("e", "mu", "e_t")


@dataclasses.dataclass
class Columns:
    """Numbers that differ from run to run, gathered column by column."""

    base: np.ndarray
    places: list[int] = dataclasses.field(default_factory=list)
    values: list[np.ndarray] = dataclasses.field(default_factory=list)

    def put(self, place: int, column: np.ndarray) -> None:
        """Keep a column, unless all of its numbers are those of the base."""
        if (column.view(np.int64) != np.float64(self.base[place]).view(np.int64)).any():
            self.places.append(place)
            self.values.append(column)

    def put_table(self, places: np.ndarray, table: np.ndarray) -> None:
        """Keep the columns of a table that differ from the base, runs first."""
        table = np.ascontiguousarray(table, dtype=float)
        differs = (table.view(np.int64) != self.base[places].view(np.int64)).any(axis=0)
        self.places += places[differs].tolist()
        self.values += list(np.ascontiguousarray(table.T[differs]))

    def rows(self, starts: np.ndarray, spans: np.ndarray) -> Rows:
        """Return the rows with these starts and spans."""
        count = len(starts)
        values = np.stack(self.values, axis=1) if self.values else np.zeros((count, 0))
        return Rows(np.array(self.places, dtype=np.int64), np.ascontiguousarray(values), starts, spans)


def column_of(parameter: Parameter, table: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return one number per run; a table holds parameters with the runs as first axis."""
    found = table[parameter.name]
    for index in parameter.index:
        found = found[(slice(None), *(index if isinstance(index, tuple) else (index,)))]
    return np.ascontiguousarray(found, dtype=float)


def put_parameters(columns: Columns, layout: ParLayout, table: Mapping[str, np.ndarray], at: int = 0) -> None:
    """Enter the places of parameters in `par`, which begins at a place of the block."""
    for name, values in table.items():
        slot = layout.parameters.get(name)
        if slot is None:
            continue
        for k, column in enumerate(values.reshape(len(values), -1).T):
            columns.put(at + slot.offset + k, np.ascontiguousarray(column))
    for place, parameter in layout.references:
        if parameter.name in table:
            columns.put(at + place, column_of(parameter, table))


def put_laws(columns: Columns, engine: Engine, system: System, first: Mapping[str, Any], table) -> None:
    """Enter restitution and friction of contacts, where they are parameters; impossible ones are refused."""
    places = {"e": engine.block.e, "mu": engine.block.mu, "e_t": engine.block.e_t}
    for c, (name, contact) in enumerate(zip(system.contact_names, system.contacts, strict=True)):
        letters = {"e": contact.e, "mu": contact.frictions[0] if contact.frictions else 0.0, "e_t": contact.e_t}
        named = [one for one in (*letters.values(), *contact.frictions) if isinstance(one, Parameter)]
        if not any(one.name in table for one in named):
            continue
        checked = set()
        for parameter in named:
            if parameter.name in table:
                column = column_of(parameter, table)
                checked |= {int(np.argmin(column)), int(np.argmax(column))}
        for k in sorted(checked):  # what holds for the smallest and the largest of each holds for all
            try:
                contact.law(
                    {**first, **{name: row_value(values, k) for name, values in table.items()}}, f"contact {name!r}"
                )
            except ModelError as error:
                raise ModelError(f"run {k}: {error}") from None
        for letter, value in letters.items():
            if isinstance(value, Parameter) and value.name in table:
                columns.put(places[letter].start + c, column_of(value, table))


def row_value(values: np.ndarray, k: int) -> float | np.ndarray:
    """Return the value of a parameter in run k."""
    return float(values[k]) if values.ndim == 1 else values[k]


def parameter_rows(
    engine: Engine, model: CompiledModel, table: Mapping[str, np.ndarray], starts: np.ndarray, spans: np.ndarray,
    settings_of_control: Callable[[float, float], np.ndarray] | None, own: ParLayout | None = None,
) -> Rows:  # fmt: skip
    """Return the rows of a model with Parameters.

    Parameters
    ----------
    table
        Values of parameters by name, runs first.
    settings_of_control
        Settings of the control for the begin and the end of a span [s]; None where they hang on none.
    own
        What the user's reducers read.
    """
    columns = Columns(engine.base)
    put_parameters(columns, model.par_layout, table)
    put_laws(columns, engine, model.system, model.first, table)
    if own is not None:
        put_parameters(columns, own, table, engine.block.own.start)
    promise, count = engine.steps.promise, len(starts)
    if promise is not None:
        if fixed_inertia(model, table):
            start = start_of(model, float(spans[0, 0]), model.start[1], promise.scale)
            places, values = promise.numbers(engine.steps.settings, model.layout, spans[:, 0], spans[:, 1], start)
        else:
            places, values = _promises(engine, [_at(model, table, starts, spans, k) for k in range(count)], spans)
        columns.put_table(engine.block.settings.start + np.asarray(places, dtype=np.int64), values)
    _put_controls(columns, engine, spans, settings_of_control)
    return columns.rows(starts, spans)


def fixed_inertia(model: CompiledModel, table: Mapping[str, np.ndarray]) -> bool:
    """Return whether masses and rows are the same wherever a run begins, and whatever its parameters are."""
    return int(model.layout.features) & EVERYWHERE == EVERYWHERE and (not table or model.inertia_fixed)


def _at(model: CompiledModel, table, starts: np.ndarray, spans: np.ndarray, k: int) -> CompiledModel:
    changes = {name: row_value(values, k) for name, values in table.items()}
    nq = int(model.layout.nq)
    return model.at(float(spans[k, 0]), starts[k, :nq].copy(), starts[k, nq:].copy(), changes)


def _promises(engine: Engine, models: Sequence[CompiledModel], spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return places and values of the settings where every run begins with masses of its own."""
    promise, places, values = engine.steps.promise, np.zeros(0, dtype=int), []
    if promise is None:
        raise ValueError("the scheme promises nothing")
    for model, span in zip(models, spans, strict=True):
        start = start_of(model, float(span[0]), model.start[1], promise.scale)
        places, row = promise.numbers(engine.steps.settings, model.layout, span[:1], span[1:2], start)
        values.append(row[0])
    return places, np.array(values)


def _put_controls(columns: Columns, engine: Engine, spans: np.ndarray, settings_of_control) -> None:
    if settings_of_control is None:
        return
    ends, which = np.unique(spans[:, :2], axis=0, return_inverse=True)
    table = np.array([settings_of_control(float(begin), float(end)) for begin, end in ends])[which.reshape(-1)]
    for k, column in enumerate(table.T):
        columns.put(engine.block.control.start + k, np.ascontiguousarray(column))


def model_rows(
    engine: Engine, models: Sequence[CompiledModel], starts: np.ndarray, spans: np.ndarray, settings_of_control,
    tol: float | None,
) -> Rows:  # fmt: skip
    """Return the rows of models that were made one by one and have the structure of the engine's.

    tol: tolerance of the scheme, None where it has none (`CompiledModel.units_for`).
    """
    columns, block = Columns(engine.base), engine.block
    units = [model.units_for(tol) for model in models]
    table = np.array([np.concatenate([one.par, one.e, one.mu, one.e_t]) for one in units])
    for place, column in enumerate(table.T):
        columns.put(place, np.ascontiguousarray(column))
    if engine.steps.promise is not None:
        places, values = _promises(engine, models, spans)
        for place, column in zip(places, values.T, strict=True):
            columns.put(block.settings.start + int(place), np.ascontiguousarray(column))
    _put_controls(columns, engine, spans, settings_of_control)
    return columns.rows(starts, spans)


def check_structure(first: CompiledModel, other: CompiledModel, k: int) -> None:
    """Raise SettingError where the model of run k is built otherwise than that of run 0."""
    same = first.module == other.module and first.layout.tobytes() == other.layout.tobytes()
    same = same and first.par_layout.slots == other.par_layout.slots and first.kinds == other.kinds
    if not same:
        raise SettingError(
            f"the model of run {k} is not built as that of run 0: runs of one sweep may differ in numbers, not in "
            "bodies, contacts, joints or formulas. A number that is exactly 0 or 1 shortens a formula: read it from "
            "Parameters, which do not, or leave that value out"
        )
