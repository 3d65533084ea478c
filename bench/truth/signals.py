"""Signal: a polynomial plus sines of time, with exact derivatives and integrals: drives of closed-form motions."""

from __future__ import annotations

import dataclasses

import numpy as np

Wave = tuple[float, float, float]  # amplitude, angular frequency [rad/s], phase [rad]


@dataclasses.dataclass(frozen=True)
class Signal:
    """sum powers[k] t^k + sum amplitude sin(omega t + phase); it takes numbers, arrays and traced times."""

    powers: tuple[float, ...] = ()
    waves: tuple[Wave, ...] = ()

    def __call__(self, t):
        made = 0.0
        for power in reversed(self.powers):
            made = made * t + power
        for amplitude, omega, phase in self.waves:
            made = made + amplitude * np.sin(omega * t + phase)
        return made

    def at(self, t: np.ndarray) -> np.ndarray:
        """Values at an array of times, also where the signal is a constant."""
        return np.zeros(np.shape(t)) + self(np.asarray(t, dtype=float))

    def derivative(self) -> Signal:
        powers = tuple(k * power for k, power in enumerate(self.powers) if k > 0)
        return Signal(powers, tuple((a * w, w, phase + np.pi / 2.0) for a, w, phase in self.waves))

    def integral(self) -> Signal:
        """The antiderivative that vanishes at t = 0."""
        start = sum(a / w * np.cos(phase) for a, w, phase in self.waves)
        powers = (start, *(power / (k + 1.0) for k, power in enumerate(self.powers)))
        return Signal(powers, tuple((a / w, w, phase - np.pi / 2.0) for a, w, phase in self.waves))

    def __add__(self, other: Signal) -> Signal:
        size = max(len(self.powers), len(other.powers))
        mine, others = (np.pad(np.array(s.powers, dtype=float), (0, size - len(s.powers))) for s in (self, other))
        return Signal(tuple((mine + others).tolist()), self.waves + other.waves)

    def __mul__(self, factor: float) -> Signal:
        powers = tuple(float(factor) * power for power in self.powers)
        return Signal(powers, tuple((float(factor) * a, w, phase) for a, w, phase in self.waves))

    __rmul__ = __mul__

    def __neg__(self) -> Signal:
        return self * -1.0

    def __sub__(self, other: Signal) -> Signal:
        return self + -other


ZERO = Signal()


def constant(value: float) -> Signal:
    """The signal that does not change."""
    return Signal((float(value),))


def combined(row: np.ndarray, signals: list[Signal]) -> Signal:
    """sum row[k] signals[k]."""
    made = ZERO
    for factor, signal in zip(row, signals, strict=True):
        if factor != 0.0:
            made = made + float(factor) * signal
    return made


class Path:
    """Motion under an acceleration that is a signal, from a given place and velocity at a given time."""

    def __init__(self, t: float, place: float, velocity: float, acceleration: Signal):
        first = acceleration.integral()
        self.second = first.integral()
        self.first = first
        self.t, self.slope = t, velocity - float(first.at(t))
        self.offset = place - float(self.second.at(t))

    def place(self, t):
        return self.offset + self.slope * (t - self.t) + self.second.at(t)

    def velocity(self, t):
        return self.slope + self.first.at(t)
