"""Numbers of random models, and the units in which they are written."""

from __future__ import annotations

import dataclasses

import numpy as np

LENGTHS = (1.0, 1.0, 1.0, 1e3, 1e-3)  # m, mm, km
TIMES = (1.0, 1.0, 1.0, 1e3)  # s, ms


def uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def signed(rng: np.random.Generator, low: float, high: float) -> float:
    """A number of that size, of either sign."""
    return float(rng.choice((-1.0, 1.0))) * uniform(rng, low, high)


def places(rng: np.random.Generator, n: int, low: float, high: float, apart: float) -> list[float]:
    """n increasing places, at least `apart` from each other and from both ends."""
    room = high - low - (n + 1) * apart
    assert room > 0.0
    cuts = np.sort(rng.uniform(0.0, room, n))
    return [float(low + cut + (k + 1) * apart) for k, cut in enumerate(cuts)]


@dataclasses.dataclass(frozen=True)
class Scale:
    """A span, a length and a mass that a motion has, and the time in which it moves by that length."""

    span: float
    length: float
    time: float
    mass: float

    @property
    def speed(self) -> float:
        return self.length / self.time

    @property
    def acceleration(self) -> float:
        return self.length / self.time**2


def scale(rng: np.random.Generator) -> Scale:
    """Draw a scale in any of the units: seconds or milliseconds, metres, millimetres or kilometres."""
    seconds = float(rng.choice(TIMES))
    span = seconds * log_uniform(rng, 0.5, 12.0)
    mass = log_uniform(rng, 0.1, 10.0) if rng.random() < 0.7 else log_uniform(rng, 1e-6, 1e6)
    return Scale(span, float(rng.choice(LENGTHS)) * log_uniform(rng, 0.1, 3.0), span / uniform(rng, 2.0, 6.0), mass)
