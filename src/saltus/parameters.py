"""Parameters: named numbers that functions and laws read, and that every run may give other values.

    p = Parameters(w=2.6, e=0.8)
    system = System(M=1.0, f=lambda t, q, v: -p.w**2 * q, contacts=[Contact(lambda q: q[0], e=p.e)])
    solve(system, ..., parameters={"w": 3.0})

A name is what identifies a parameter: two Parameters that share a name must agree about its value. While a function of
the user runs as Python for a run, `p.w` is the number of that run; in a trace it is a variable; otherwise it is a
`Parameter`, which computes like its first value and which laws keep as a reference.
"""

from __future__ import annotations

import contextlib
import math
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from saltus.errors import ModelError, SettingError

Values = Mapping[str, "float | np.ndarray"]


class _Active(threading.local):
    """Values of the run for which this thread calls a function of the user, None outside."""

    values: Values | None = None


_active = _Active()


@contextlib.contextmanager
def given(values: Values | None) -> Iterator[None]:
    """Let all parameters have the values of a run inside."""
    if not values:
        yield
        return
    before, _active.values = _active.values, values
    try:
        yield
    finally:
        _active.values = before


class Parameters:
    """Named numbers, or arrays of numbers, of a model: `p = Parameters(w=2.6, k=[1.0, 2.0])`, read as `p.w`.

    Read them inside of the functions of a system (force, mass, gaps, events, ...) or give them to laws
    (`Contact(e=p.e)`): there, `solve(..., parameters={"w": 3.0})` sets them, and no value compiles anything again, not
    even 0 or 1. What is computed from them outside, such as `k = 2.0 * p.w`, is an ordinary number and stays it.

    They cannot be changed. `p["w"]` is the first value itself, `list(p)` the names, `dict(p.items())` both.
    """

    _numbers: dict[str, float | np.ndarray]
    mark: tuple  # the same only for the same names and values

    def __init__(self, **values: Any):
        if not values:
            raise ModelError("Parameters() has no parameters: give them by name, like Parameters(w=2.6)")
        numbers = {name: checked_value(name, value) for name, value in values.items()}
        for name in numbers:
            if name.startswith("_") or name in ("items", "mark"):
                raise ModelError(f"{name!r} cannot be the name of a parameter: give it another one")
        object.__setattr__(self, "_numbers", numbers)
        marks = tuple((name, np.shape(number), np.asarray(number).tobytes()) for name, number in numbers.items())
        object.__setattr__(self, "mark", marks)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._numbers:  # the first: a question of Python about this object
            known = "" if name.startswith("_") else f": it has {', '.join(self._numbers)}"
            raise AttributeError(f"Parameters has no {name!r}{known}")
        values = _active.values
        if values is not None and name in values:
            return values[name]
        return Parameter(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise ModelError(f"parameter {name!r} cannot be set here: give solve(..., parameters={{{name!r}: {value!r}}})")

    def __delattr__(self, name: str) -> None:
        raise ModelError(f"parameter {name!r} cannot be deleted")

    def __getitem__(self, name: str) -> float | np.ndarray:
        if name in (_active.values or ()):
            raise ModelError(f"p[{name!r}] is the first value of a parameter, not that of the run: write p.{name}")
        try:
            return self._numbers[name]
        except KeyError:
            raise ModelError(f"there is no parameter {name!r}: there are {', '.join(self._numbers)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def items(self) -> Iterable[tuple[str, float | np.ndarray]]:
        """Return names and first values."""
        return self._numbers.items()

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={_said(number)}" for name, number in self._numbers.items())
        return f"Parameters({said})"

    def __reduce__(self):
        return _parameters, (self._numbers,)


def _parameters(numbers: dict[str, Any]) -> Parameters:
    """Make parameters again out of a pickle."""
    return Parameters(**numbers)


class Parameter:
    """One parameter, or an entry of one: a reference for laws and models, and elsewhere the number that it stands for.

    Attributes
    ----------
    parameters, name
        Where it belongs, and what it is called.
    index
        Places inside of an array, one per pair of brackets.
    """

    __slots__ = ("index", "name", "parameters")

    def __init__(self, parameters: Parameters, name: str, index: tuple = ()):
        self.parameters, self.name, self.index = parameters, name, index

    @property
    def number(self) -> Any:
        """The present value: that of the run, else the first one."""
        values = _active.values
        return self.of(values if values is not None and self.name in values else self.parameters)

    def of(self, values: Any) -> Any:
        """Return the value among others."""
        found: Any = values._numbers[self.name] if isinstance(values, Parameters) else values[self.name]
        for index in self.index:
            found = found[index]
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.of(self.parameters))

    @property
    def label(self) -> str:
        """How messages call it: w, or k[1]."""
        places = "".join(f"[{', '.join(map(str, i)) if isinstance(i, tuple) else i}]" for i in self.index)
        return f"{self.name}{places}"

    def __str__(self) -> str:
        return str(self.number)

    def __repr__(self) -> str:
        return f"<parameter {self.label} = {_said(self.number)}>"

    def __reduce__(self):
        return Parameter, (self.parameters, self.name, self.index)

    def __getitem__(self, index: Any) -> Parameter:
        made = Parameter(self.parameters, self.name, (*self.index, index))
        made.of(self.parameters)  # IndexError where there is no such entry, which also ends an iteration
        return made

    def __len__(self) -> int:
        return len(self.of(self.parameters))  # TypeError where it is one number

    def __float__(self) -> float:
        return float(self.number)

    def __int__(self) -> int:
        return int(self.number)

    def __bool__(self) -> bool:
        return bool(self.number)

    def __format__(self, form: str) -> str:
        return format(self.number, form)

    def __hash__(self) -> int:
        return hash(self.number)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        numbers = [one.number if isinstance(one, Parameter) else one for one in inputs]
        return getattr(ufunc, method)(*numbers, **options)


def _forward(operation: Callable) -> Callable:
    return lambda self, *others: operation(self.number, *map(_plain, others))


def _backward(operation: Callable) -> Callable:
    return lambda self, other: operation(_plain(other), self.number)


def _plain(value: Any) -> Any:
    return value.number if isinstance(value, Parameter) else value


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    _operation = getattr(operator, _name)
    setattr(Parameter, f"__{_name}__", _forward(_operation))
    setattr(Parameter, f"__r{_name}__", _backward(_operation))
for _name in ("neg", "pos", "abs", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Parameter, f"__{_name}__", _forward(getattr(operator, _name)))


def _said(number: Any) -> str:
    return repr(number.tolist() if isinstance(number, np.ndarray | np.generic) else number)


# ---- values


def checked_value(name: str, value: Any, error: type[Exception] = ModelError) -> float | np.ndarray:
    """Return a number as a float, an array as a read-only array of floats; both must be finite."""
    if type(value) is float and math.isfinite(value):
        return value
    try:
        if value is None or isinstance(value, bool | np.bool_) or np.iscomplexobj(value):
            raise TypeError
        array = np.array(_plain(value))
        if array.dtype.kind not in "iufO":  # texts, dates
            raise TypeError
        array = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise error(f"parameter {name!r} is {value!r}: it must be a number or an array of numbers") from None
    if not np.all(np.isfinite(array)):
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        entry = f"{name}[{', '.join(map(str, place))}]" if place else name
        raise error(f"parameter {entry!r} is {array[place]}: give a finite number")
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array


def as_changes(given: Any) -> dict[str, Any]:
    """Return what `solve(..., parameters=given)` means as a dictionary."""
    if given is None:
        return {}
    if isinstance(given, Parameters):
        return dict(given.items())
    if not isinstance(given, Mapping):
        raise SettingError(f"parameters must be a dictionary like {{'w': 2.6}}, not {given!r}")
    return dict(given)


def run_values(first: Values, changes: Mapping[str, Any]) -> dict[str, float | np.ndarray]:
    """Return the values of a run: the first ones and those that are given otherwise.

    Raises
    ------
    SettingError
        When a name is unknown, a shape is another one, or a value is no finite number.
    """
    values = dict(first)
    for name, value in changes.items():
        if name not in values:
            if not values:
                raise SettingError(
                    f"parameters has {name!r}, but the system has no parameters: make p = Parameters({name}=...) and "
                    f"read p.{name} in its functions"
                )
            raise SettingError(f"parameters has {name!r}, which the system does not have: it has {', '.join(values)}")
        made, first_value = checked_value(name, value, SettingError), values[name]
        numbers = type(made) is float and type(first_value) is float  # mostly; asking numpy takes ten times as long
        if not numbers and np.shape(made) != np.shape(first_value):
            raise SettingError(
                f"parameter {name!r} is {_said(made)} of shape {np.shape(made)}, but the model was written with shape "
                f"{np.shape(first_value)}: give {_said(first_value)} or numbers of that shape"
            )
        values[name] = made
    return values


# ---- finding them


def has_parameter(value: Any) -> bool:
    """Return whether numbers contain a parameter: itself, in lists, or in an array of objects."""
    if isinstance(value, Parameter):
        return True
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        return any(has_parameter(one) for one in value)
    return False
