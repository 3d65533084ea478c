"""A run at equal steps of time, for tables, filters and spectra."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import MissingExtraError, SettingError
from saltus.results.names import column_of, columns_of

if TYPE_CHECKING:
    import pandas

    from saltus.solution import Solution

MOST_SAMPLES = 1 << 26  # of one call: beyond, numbers fill the memory


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """A run at equal steps of time.

    Attributes
    ----------
    t, dt
        Times and their distance [s].
    q, v
        Positions and velocities; right limits where v jumps.
    impulse
        What the contact rows have given since the start [N s], impacts included.
    """

    t: np.ndarray
    dt: float
    q: np.ndarray
    v: np.ndarray
    impulse: np.ndarray
    _solution: Solution = dataclasses.field(repr=False)

    @property
    def force(self) -> np.ndarray:
        """Mean force of the contact rows over the interval before each time [N], impacts included; 0 at the first.

        No impact is lost between two samples: the means add up to the impulse.
        """
        return np.concatenate([np.zeros((1, self.impulse.shape[1])), np.diff(self.impulse, axis=0) / self.dt])

    def __getitem__(self, name: str | int) -> np.ndarray:
        """Return one column by name: a coordinate x, its velocity x_dot, a contact row like "floor N" (mean force)."""
        one = column_of(self._solution, name)
        return {"q": self.q, "v": self.v, "r": self.force}[one.kind][:, one.column]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame over t with the names of coordinates, velocities and contact rows."""
        try:
            import pandas
        except ImportError as missing:
            raise MissingExtraError("a DataFrame needs pandas: pip install pandas") from missing
        known = columns_of(self._solution)
        made = pandas.DataFrame(
            np.concatenate([self.q, self.v, self.force], axis=1),
            index=pandas.Index(self.t, name="t"),
            columns=[one.name for one in known],
        )
        made.attrs["units"] = {one.name: one.units for one in known}
        return made


def sample(solution: Solution, dt: float, span: Any = None) -> Samples:
    """Return a run at equal steps of time, see `Solution.sample`."""
    begin, end = span_of(solution, span)
    t = equal_times(begin, end, dt)
    state = solution(t)
    return Samples(t, float(dt), state.q, state.v, solution.impulse_at(t), solution)


def span_of(solution: Solution, span: Any) -> tuple[float, float]:
    """Return the begin and the end of a part of a run [s]."""
    first, last = float(solution.t[0]), float(solution.t[-1])
    if span is None:
        return first, last
    try:
        begin, end = (float(one) for one in span)
    except (TypeError, ValueError) as error:
        raise SettingError(f"span is {span!r}: it must be two times [s], (begin, end)") from error
    if not first <= begin < end <= last:
        raise SettingError(f"span is {span!r}: it must be a part of the run, {first} to {last}")
    return begin, end


def equal_times(begin: float, end: float, dt: float) -> np.ndarray:
    """Return times from begin to end at most, dt apart, each by its number."""
    if isinstance(dt, bool) or not isinstance(dt, int | float | np.number) or not 0.0 < float(dt) < np.inf:
        raise SettingError(f"dt is {dt!r}: it must be a positive time [s]")
    count = (end - begin) / float(dt)
    if not count < MOST_SAMPLES:
        raise SettingError(f"dt = {dt} s makes {count:.3g} samples: take a longer one, or a part of the run by span=")
    count = int(np.floor(count * (1.0 + 4.0 * np.finfo(float).eps)))
    if count < 1:
        raise SettingError(f"dt = {dt} s is longer than the {end - begin:.6g} s that are sampled")
    return np.minimum(begin + float(dt) * np.arange(count + 1), end)
