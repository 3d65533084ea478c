"""Amplitude spectrum of a coordinate, velocity or contact force whose jumps and impacts are not sampled.

Sampling a function that jumps folds its slowly falling spectrum back into the band that is looked at. Here
y = c + sum_j D_j H(t - t_j) is split at the known times of its jumps: the transform of the windowed steps, and of the
ramp that they leave, is written down in closed form, that of an impact is P_j w(t_j) exp(-i omega t_j), and only what
is continuous is sampled. Lasting forces, whose jumps nobody lists, enter by their means over the samples, which is
undone by the transform of a sample's box.
"""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError
from saltus.results.names import Quantity, column_of
from saltus.results.sample import equal_times, span_of

if TYPE_CHECKING:
    from saltus.solution import Solution

# w(t) = sum_k a_k cos(2 pi k t / T)
WINDOWS = {
    "hann": (0.5, -0.5),
    "flattop": (0.21557895, -0.41663158, 0.277263158, -0.083578947, 0.006947368),  # amplitudes true to 0.02 %
    "none": (1.0,),
}
DEFAULT_SAMPLES = 8192  # where nobody says dt
TERMS_AT_ONCE = 1 << 20  # jumps times frequencies that are summed together, so that memory stays flat
SMALLEST_JUMP = 1e-10  # of the largest value: smaller ones are sampled with the rest


@dataclasses.dataclass(frozen=True, eq=False)
class Spectrum:
    """Amplitudes of a column of a run over frequency.

    Attributes
    ----------
    f
        Frequencies [Hz], from 0 to half the rate of the samples, 1 / span apart.
    amplitude
        Of a sine with that frequency, in `units`; at 0 the mean, without its sign.
    phase
        Of cos(2 pi f (t - begin) + phase) [rad].
    name, units
        What it is of.
    window, span, dt
        How it was made: window, begin and end [s], distance of the samples [s].
    jumps
        Number of jumps or impacts that were taken exactly.
    """

    f: np.ndarray
    amplitude: np.ndarray
    phase: np.ndarray
    name: str
    units: str
    window: str
    span: tuple[float, float]
    dt: float
    jumps: int

    def peaks(self, count: int = 5) -> list[tuple[float, float]]:
        """Return the largest maxima as (frequency [Hz], amplitude), the largest first."""
        a = self.amplitude
        inner = 1 + np.flatnonzero((a[1:-1] > a[:-2]) & (a[1:-1] >= a[2:]))
        chosen = inner[np.argsort(-a[inner], kind="stable")[:count]]
        return [(float(self.f[k]), float(a[k])) for k in chosen]

    def plot(self, *, axes: Any = None, path: str | os.PathLike | None = None) -> Any:
        """Draw the amplitudes over frequency; returns the matplotlib figure. path writes .png, .pdf or .svg."""
        from saltus.plot import plot_spectrum

        return plot_spectrum(self, axes=axes, path=path)


def spectrum(solution: Solution, x: Any, dt: float | None, span: Any, window: str) -> Spectrum:
    """Return the amplitude spectrum of a column, see `Solution.spectrum`."""
    if window not in WINDOWS:
        raise SettingError(f"window is {window!r}: it must be one of {', '.join(map(repr, WINDOWS))}")
    one = column_of(solution, x)
    begin, end = span_of(solution, span)
    t = equal_times(begin, end, (end - begin) / DEFAULT_SAMPLES if dt is None else dt)
    n, dt = len(t) - 1, float(t[1] - t[0])
    if n < 4:
        raise SettingError(f"dt = {dt} s leaves {n} samples: a spectrum needs at least 4")
    sums, jumps = (_of_force if one.kind == "r" else _of_state)(solution, one, t, WINDOWS[window])
    weight = np.zeros(len(sums))
    weight[: len(WINDOWS[window])] = _shape(WINDOWS[window])[: len(sums)]
    mean = sums[0].real / weight[0]
    sums = sums - mean * weight  # or the mean would leak into its neighbours
    made = 2.0 * sums / weight[0]
    made[0] = mean
    if n % 2 == 0:
        made[-1] *= 0.5  # the last one is its own mirror image
    return Spectrum(
        np.arange(len(made)) / (n * dt), np.abs(made), np.angle(made), one.name, one.units, window,
        (begin, float(t[-1])), dt, jumps,
    )  # fmt: skip


def _shape(window: tuple[float, ...]) -> np.ndarray:
    """Return the transform of the window over its length at the frequencies 0, 1, 2, ... of the grid."""
    return np.array([window[0], *(0.5 * a for a in window[1:])])


def _weights(window: tuple[float, ...], s: np.ndarray) -> np.ndarray:
    """Return the window at shares s of its length."""
    return sum((a * np.cos(2.0 * np.pi * k * s) for k, a in enumerate(window)), np.zeros(len(s)))


def _sampled(values: np.ndarray, window: tuple[float, ...], shift: float = 0.0) -> np.ndarray:
    """Return the transform over the length of n samples that stand at (k + shift) / n."""
    n = len(values)
    made = np.fft.rfft(_weights(window, (np.arange(n) + shift) / n) * values) / n
    return made * np.exp(-2j * np.pi * shift / n * np.arange(len(made)))


def _of_state(solution: Solution, one: Quantity, t: np.ndarray, window) -> tuple[np.ndarray, int]:
    """Return the windowed transform of a coordinate or velocity, and how many jumps it has."""
    length = t[-1] - t[0]
    values = getattr(solution(t[:-1]), one.kind)[:, one.column]
    times = np.unique(np.concatenate([solution.t, solution.events["t"]]))
    times = times[(times > t[0]) & (times < t[-1])]
    jumps = np.zeros(0)
    if len(times):
        right, left = (getattr(solution(times, side), one.kind)[:, one.column] for side in ("+", "-"))
        jumps = right - left
        large = np.abs(jumps) > SMALLEST_JUMP * np.abs(values).max(initial=0.0)
        times, jumps = times[large], jumps[large]
    total = np.concatenate([[0.0], np.cumsum(jumps)])
    steps = total[np.searchsorted(times, t[:-1], side="right")]
    rest, s = values - steps, np.arange(len(values)) / len(values)
    rise = -total[-1]  # what is continuous runs against the jumps, and is no periodic function then
    made = _sampled(rest - rise * s, window) + rise * _ramp(window, len(values) // 2 + 1)
    for part, begin in _parts(times, (times - t[0]) / length, len(made)):
        made += jumps[part] @ _steps(begin, window, len(made))
    return made, len(jumps)


def _ramp(window: tuple[float, ...], count: int) -> np.ndarray:
    """Return the integrals of w x exp(-2 pi i m x) over x from 0 to 1."""
    m, made = np.arange(count), np.zeros(count, dtype=complex)
    for k, a in enumerate(window):
        for turn in (k, -k) if k else (0,):
            speed = m + turn
            part = np.where(speed == 0, 0.5, 0.5j / (np.pi * np.where(speed == 0, 1, speed)))
            made += (a if k == 0 else 0.5 * a) * part
    return made


def _steps(s: np.ndarray, window: tuple[float, ...], count: int) -> np.ndarray:
    """Return the integrals of w exp(-2 pi i m x) over x from s to 1, one row per s, one column per m."""
    m, made = np.arange(count), np.zeros((len(s), count), dtype=complex)
    for k, a in enumerate(window):
        for turn in (k, -k) if k else (0,):
            speed = m + turn
            still = speed == 0
            with np.errstate(divide="ignore", invalid="ignore"):
                part = (np.exp(-2j * np.pi * s[:, None] * speed) - 1.0) / (2j * np.pi * speed)
            part[:, still] = (1.0 - s)[:, None]
            made += (a if k == 0 else 0.5 * a) * part
    return made


def _of_force(solution: Solution, one: Quantity, t: np.ndarray, window) -> tuple[np.ndarray, int]:
    """Return the windowed transform of a contact force as a measure, and how many impacts are in it."""
    n, length = len(t) - 1, t[-1] - t[0]
    name = solution.rows[one.column][0]
    place = next(j for j, row in enumerate(solution.rows) if row[0] == name)
    rows = solution.events[(solution.events["contact"] == name) & np.isin(solution.events["kind"], ("impact", "zeno"))]
    times, struck = rows["t"], rows["impulse"][:, one.column - place]
    order = np.argsort(times, kind="stable")
    times, struck = times[order], struck[order]
    total = np.concatenate([[0.0], np.cumsum(struck)])
    lasting = solution.impulse_at(t)[:, one.column] - total[np.searchsorted(times, t, side="right")]
    made = _sampled(np.diff(lasting) * n / length, window, shift=0.5)
    made /= np.sinc(np.arange(len(made)) / n)  # means over a sample are not its values
    inside = (times >= t[0]) & (times <= t[-1])
    times, struck = times[inside], struck[inside]
    for part, s in _parts(times, (times - t[0]) / length, len(made)):
        turned = np.exp(-2j * np.pi * s[:, None] * np.arange(len(made)))
        made += (struck[part] * _weights(window, s) / length) @ turned
    return made, len(times)


def _parts(times: np.ndarray, s: np.ndarray, count: int):
    """Yield slices of jumps that are summed together, and where they are in the span."""
    most = max(TERMS_AT_ONCE // count, 1)
    for first in range(0, len(times), most):
        part = slice(first, first + most)
        yield part, s[part]
