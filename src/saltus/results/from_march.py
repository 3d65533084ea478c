"""A Solution from the tables of a march: events by name, units of N s and m/s, and sentences about what happened."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from saltus.compile.types import Nodes
from saltus.laws import LAWS
from saltus.memory.record import COLUMN, EVENT, KIND_NAMES, RECORDED
from saltus.results.events import EventTable
from saltus.results.records import Asked, read_only
from saltus.schemes.traits import traits_of
from saltus.solution import Solution

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel

EVENT_KINDS = np.array(KIND_NAMES)
LOCATED = 2e-14  # mean error that the rounded place of an impact leaves behind, for each impact that follows


@functools.lru_cache(maxsize=256)
def event_type(names: tuple[str, ...]) -> np.dtype:
    """Return the type of the event table for contacts and user events of these names."""
    longest = max((len(name) for name in names), default=1)
    vectors = [(name, float, 3) for name in ("u_minus", "u_plus", "impulse")]
    return np.dtype(
        [
            ("t", float),
            ("contact", f"U{longest}"),
            ("kind", EVENT_KINDS.dtype),
            *vectors,
            ("count", int),
            ("energy", float),
        ]
    )


def build_solution(
    model: CompiledModel, scheme, nodes: Nodes, events, dense, counts, status, message, problem, asked: Asked | None
) -> Solution:
    """Make a Solution from the tables of a march."""
    system = model.system
    names = model.names
    crossings = events[events[:, 2] == EVENT.switch] if model.layout.ns else events[:0]
    switches = np.zeros(len(crossings), dtype=_switch_type(model.name_array.dtype))
    if len(crossings):
        switches["t"], switches["name"] = crossings[:, 0], model.name_array[crossings[:, 1].astype(int)]
        events = events[events[:, 2] != EVENT.switch]
    units, reactions = model.row_units(), nodes.reactions
    if units is not None:
        events, reactions = _in_units(model, units, events, reactions)
    table = np.zeros(len(events), dtype=event_type(names))
    if len(events):  # filling an empty table takes as long as a short run
        kinds = events[:, 2].astype(int)
        count = np.bincount(kinds, minlength=len(EVENT_KINDS))
        _fill_events(table, events, kinds, model.name_array)
        if count[TOLD].any():
            message = _told(table, kinds, message)
        impacts = int(count[EVENT.impact])
    else:
        impacts = 0
    made = Solution(
        t=nodes.t[:, 0],
        q=nodes.q,
        v=nodes.v,
        events=table.view(EventTable),
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
        _extra=nodes.extra[:, : RECORDED.extra_inside] if nodes.extra.shape[1] else None,
        _certificate=nodes.extra[:, RECORDED.extra_inside :] if nodes.extra.shape[1] else None,
        _reactions=reactions,
        _dense=dense,
        _before=np.zeros(len(model.rows)),
        event_names=model.event_names,
        switches=switches,
        _asked=asked,
        _units=None if units is None else np.append(units, np.ones(int(model.layout.nj))),
    )
    if impacts > traits_of(scheme).controlled_impacts:
        struck = events[events[:, COLUMN.kind] == EVENT.impact, COLUMN.contact].astype(int)
        object.__setattr__(made, "message", message + _uncontrolled(made, model.units.e[struck]))
    return read_only(made)


def _in_units(
    model: CompiledModel, units: np.ndarray, events: np.ndarray, reactions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return events and reactions of a march in N s and m/s; kernels work in the units of the laws."""
    events, reactions, nv = events.copy(), reactions.copy(), int(model.layout.nv)
    reactions[:, 2 + nv : 2 + nv + len(units)] *= units
    first = 0
    for c, kind in enumerate(model.kinds):
        mine, rows = events[:, 1] == c, LAWS[kind].ROWS
        own = units[first : first + rows]
        for place, factor in ((COLUMN.before, 1.0 / own), (COLUMN.after, 1.0 / own), (COLUMN.impulse, own)):
            events[mine, place : place + rows] *= factor
        first += rows
    return events, reactions


@functools.lru_cache(maxsize=256)
def _switch_type(names: np.dtype) -> np.dtype:
    """Return the type of the table of switches whose names have this type."""
    return np.dtype([("t", float), ("name", names)])


# kinds of events that the message tells of
TOLD = np.array([EVENT.gain, EVENT.tie, EVENT.painleve, EVENT.not_unique], dtype=int)


def _fill_events(table: np.ndarray, events: np.ndarray, kinds: np.ndarray, names: np.ndarray) -> None:
    """Fill the table of events from the rows of a march."""
    table["t"] = events[:, 0]
    table["contact"] = names[events[:, 1].astype(int)]
    table["kind"] = EVENT_KINDS[kinds]
    for name, place in (("u_minus", COLUMN.before), ("u_plus", COLUMN.after), ("impulse", COLUMN.impulse)):
        table[name] = events[:, place : place + 3]
    table["count"], table["energy"] = events[:, COLUMN.impacts], events[:, COLUMN.energy]


def _told(table: np.ndarray, kinds: np.ndarray, message: str) -> str:
    """Return the message of a run with what its events tell."""
    gains = kinds == EVENT.gain
    if gains.any():
        message = f"{message} {_gains(table[gains])}"
    ties = kinds == EVENT.tie
    if ties.any():
        message = f"{message} {_ties(table[ties])}"
    jams = table[kinds == EVENT.painleve]
    if len(jams):
        message = (
            f"{message} At t = {jams['t'][0]:.9g} s no finite force keeps {str(jams['contact'][0])!r} closed while it "
            "slides (Painleve): an impulse acts on it instead."
        )
    open_ones = table[kinds == EVENT.not_unique]
    if len(open_ones):
        message = (
            f"{message} The motion is not unique from t = {open_ones['t'][0]:.9g} s on, where contact "
            f"{str(open_ones['contact'][0])!r} shares forces: what sticks was kept, else the shortest forces."
        )
    return message


def _uncontrolled(made: Solution, e: np.ndarray) -> str:
    """Return the sentence about a run with more impacts than those over which its scheme controls its error.

    e: restitution of the impacts, one after the other
    """
    tol = float(max(np.max(made.scheme.rtol), np.max(made.scheme.atol)))
    ratio = grown_error(made, e) / tol
    most = float(np.linalg.norm(made.v, axis=1).max(initial=0.0))
    lost = ratio * tol * (1.0 + most) >= most  # then nothing of the phase is left, and errors grow no more
    said = "as much as the motion itself" if lost else f"{ratio:.1g} times what tol = {tol:g} means"
    return (
        f" {type(made.scheme).__name__} controls the error of a step, not that of a run: over {len(e)} impacts errors "
        f"may have added up to {said}; sol.verify() measures them, HpTDG keeps them below it."
    )


def grown_error(made: Solution, e: np.ndarray) -> float:
    """Return what the mean error of v over 1 + its size may have grown to in a run with many impacts, by its ledger.

    A defect of the energy, over the energy, is a share by which the motion runs too fast or too slow from then on, so
    that its integral is the time by which the run is off its phase; the mean rate at which velocities change, impacts
    included, makes velocities of it. The place of an impact is located to rounding, which no ledger shows. Restitution
    forgets: only the last 1 / (1 - e) impacts of a contact count.
    """
    ledger, h = made.energy, np.diff(made.t)
    count, span = len(e), float(made.t[-1] - made.t[0])
    if not span > 0.0:
        return np.inf  # a run that broke before a second node was kept
    most = np.maximum.accumulate(ledger.kinetic[::-1])[::-1]  # what is still to come: impacts may lose energy
    share = np.abs(np.cumsum(np.diff(ledger.defect, prepend=0.0) / np.where(most > 0.0, most, np.inf)))
    late = np.append(0.0, np.cumsum(0.5 * (share[1:] + share[:-1]) * h))
    mean = float(np.sum(0.5 * (late[1:] + late[:-1]) * h)) / span
    rate = float(np.linalg.norm(np.abs(np.diff(made.v, axis=0)).sum(axis=0))) / span
    size = 1.0 + float(np.linalg.norm(made.v, axis=1).max())
    kept = np.minimum(1.0, 1.0 / np.maximum((1.0 - e) * count, 1e-300))  # share of the impacts that are not forgotten
    return (mean * rate / size + LOCATED * count**2) * float(np.mean(kept**2))


def _gains(gains: np.ndarray) -> str:
    """Return the sentence about impacts that gained energy."""
    worst = gains[np.argmax(gains["energy"])]
    many = "1 impact has" if len(gains) == 1 else f"{len(gains)} impacts have"
    return (
        f"{many} gained energy, up to {worst['energy']:.3g} J (contact {str(worst['contact'])!r} at t = "
        f"{worst['t']:.9g} s): Newton's law does so where friction turns a slip around; impact='poisson' does not."
    )


def _ties(ties: np.ndarray) -> str:
    """Return the sentence about contacts that struck together."""
    times = np.unique(ties["t"])
    many = "1 tie" if len(times) == 1 else f"{len(times)} ties"
    *others, last = (repr(str(name)) for name in ties["contact"][ties["t"] == times[0]])
    return (
        f"{many}: contacts struck closer together than the run can resolve, and the outcome depends on their order, "
        f"first at t = {times[0]:.9g} s between {', '.join(others)} and {last}."
    )
