"""Event: a function of the state whose zero is a moment to find, to act at, or to stop at."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Sequence

import numpy as np

from saltus.errors import FunctionError, ModelError, SettingError
from saltus.parameters import Values, given
from saltus.system import System, arity

EVENT_INTEGERS = 3  # what a layout keeps of an event: direction, terminal, has_reset


@dataclasses.dataclass(frozen=True, eq=False)
class Event:
    """A moment of a run that is found exactly: where a function of the state crosses zero or jumps over it.

    Parameters
    ----------
    function
        Function of (q), (t, q) or (t, q, v) returning a scalar; the event is its zero. In any units.
    direction
        -1: only where it falls through zero, +1: only where it rises, 0: both.
    terminal
        Whether the run ends there.
    reset
        reset(t, q, v) -> (q, v): the state after the event [units of q and v], finite for every state.
    name
        How messages and the table of events call it.
    """

    function: Callable
    direction: int = dataclasses.field(default=0, kw_only=True)
    terminal: bool = dataclasses.field(default=False, kw_only=True)
    reset: Callable | None = dataclasses.field(default=None, kw_only=True)
    name: str | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        if self.name is not None and not isinstance(self.name, str):
            raise ModelError(f"name of an event must be text, not {self.name!r}")
        who = f"event {self.name!r}" if self.name else "an event"
        if not callable(self.function):
            raise ModelError(f"function of {who} must be a function of (q), (t, q) or (t, q, v), not {self.function!r}")
        arity(self.function, f"function of {who}")
        number = isinstance(self.direction, numbers.Real) and not isinstance(self.direction, bool)
        if not number or self.direction not in (-1, 0, 1):
            raise ModelError(
                f"direction of {who} is {self.direction!r}: it must be -1 (falling), 1 (rising) or 0 (both)"
            )
        if not isinstance(self.terminal, bool | np.bool_):
            raise ModelError(f"terminal of {who} is {self.terminal!r}: it must be True or False")
        if self.reset is not None:
            if not callable(self.reset):
                raise ModelError(f"reset of {who} must be a function of (t, q, v) returning (q, v), not {self.reset!r}")
            arity(self.reset, f"reset of {who}", "(t, q, v)", allowed=(3,))


def event_names(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the names of events, numbered where none is given."""
    return tuple(event.name or f"event {k}" for k, event in enumerate(events))


def checked_events(events, system: System) -> tuple[Event, ...]:
    """Return the events of a run as a tuple; names must differ from each other and from those of the system."""
    if isinstance(events, tuple) and not events:
        return ()
    if isinstance(events, Event):
        events = (events,)
    if not isinstance(events, Sequence) or isinstance(events, str):
        raise SettingError(f"events must be a list of Event, not {events!r}")
    for item in events:
        if not isinstance(item, Event):
            raise SettingError(f"events must be a list of Event, but it contains {item!r}: wrap it in Event(...)")
    names, taken = event_names(events), (*system.contact_names, *system.joint_names)
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"two events are called {name!r}: names must differ")
        if name in taken:
            raise SettingError(f"an event and a contact or joint are called {name!r}: names must differ")
    return tuple(events)


def joined_reset(
    reset: Callable, name: str, t: float, q: np.ndarray, v: np.ndarray, values: Values | None = None
) -> Callable:
    """Return a reset whose result is one vector, q before v, once it is known to fit the state.

    values: those of the parameters for which it is called.
    """
    try:
        with given(values):
            result = reset(float(t), q.copy(), v.copy())
    except Exception as error:
        raise FunctionError(
            f"{name} raised {type(error).__name__}: {error} at t = {t:.9g}, q = {q}, v = {v}"
        ) from error
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise FunctionError(f"{name} returned {result!r}: it must return the pair (q, v)")
    for part, old, letter in zip(result, (q, v), "qv", strict=True):
        try:
            shape = np.shape(part)
        except ValueError:  # rows of different lengths
            shape = None
        if shape != old.shape:
            raise FunctionError(
                f"{name} returned {part!r} for {letter}: it must be a sequence of {len(old)} numbers, like {letter}0"
            )

    def joined(t, q, v):
        q_new, v_new = reset(t, q, v)
        return np.concatenate((np.asarray(q_new), np.asarray(v_new)))

    joined.__wrapped__ = reset  # messages name the user's own
    return joined
