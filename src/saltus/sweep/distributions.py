"""Distributions of a Monte Carlo study. The numbers of run k come from (seed, k) alone, whoever makes the run."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from typing import Protocol

import numpy as np

from saltus.errors import SettingError


class Distribution(Protocol):
    """Random numbers by their quantiles."""

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Return where the distribution function has the values p, which lie between 0 and 1."""
        ...


def _finite(who: str, **values: float) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise SettingError(f"{name} of {who} is {value!r}: it must be a finite number")


@dataclasses.dataclass(frozen=True)
class Uniform:
    """All values from low to high alike."""

    low: float
    high: float

    def __post_init__(self):
        _finite("Uniform", low=self.low, high=self.high)
        if not self.low < self.high:
            raise SettingError(f"Uniform({self.low}, {self.high}): low must be smaller than high")

    def quantile(self, p: np.ndarray) -> np.ndarray:
        return self.low + (self.high - self.low) * p


@dataclasses.dataclass(frozen=True)
class Normal:
    """Gauss' distribution: mean and standard deviation; low and high cut it off, the rest is scaled up."""

    mean: float
    deviation: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self):
        _finite("Normal", mean=self.mean, deviation=self.deviation)
        if not self.deviation > 0.0 or not self.low < self.high:
            raise SettingError(f"{self!r}: the deviation must be positive, and low smaller than high")

    def quantile(self, p: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr, ndtri  # here, because scipy loads slowly

        low, high = (float(ndtr((end - self.mean) / self.deviation)) for end in (self.low, self.high))
        return np.clip(self.mean + self.deviation * ndtri(low + (high - low) * p), self.low, self.high)


@dataclasses.dataclass(frozen=True)
class LogNormal:
    """Positive values whose logarithm is normal: median, and deviation of the logarithm."""

    median: float
    deviation: float

    def __post_init__(self):
        _finite("LogNormal", median=self.median, deviation=self.deviation)
        if not self.median > 0.0 or not self.deviation > 0.0:
            raise SettingError(f"{self!r}: median and deviation must be positive")

    def quantile(self, p: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        return self.median * np.exp(self.deviation * ndtri(p))


@dataclasses.dataclass(frozen=True)
class Triangular:
    """From low to high, most likely at mode, falling linearly to both ends."""

    low: float
    mode: float
    high: float

    def __post_init__(self):
        _finite("Triangular", low=self.low, mode=self.mode, high=self.high)
        if not self.low <= self.mode <= self.high or not self.low < self.high:
            raise SettingError(f"{self!r}: mode must lie between low and high")

    def quantile(self, p: np.ndarray) -> np.ndarray:
        width, rise = self.high - self.low, self.mode - self.low
        left = self.low + np.sqrt(p * width * rise)
        right = self.high - np.sqrt((1.0 - p) * width * (self.high - self.mode))
        return np.where(p * width <= rise, left, right)


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of some values, all alike."""

    values: tuple[float, ...]

    def __init__(self, *values: float):
        _finite("Choice", **{f"value {k}": value for k, value in enumerate(values)})
        if not values:
            raise SettingError("Choice() has no values: give some numbers")
        object.__setattr__(self, "values", tuple(float(value) for value in values))

    def quantile(self, p: np.ndarray) -> np.ndarray:
        return np.array(self.values)[np.minimum((p * len(self.values)).astype(int), len(self.values) - 1)]


def is_distribution(value: object) -> bool:
    """Return whether something is a distribution."""
    return not isinstance(value, type) and hasattr(value, "quantile") and not isinstance(value, np.ndarray)


def shares(seed: int, name: str, runs: int) -> np.ndarray:
    """Return numbers between 0 and 1, one per run; number k hangs on seed, name and k alone, not on how many there are.

    So more runs, or one more value that scatters, leave those that were made as they are.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise SettingError(f"seed is {seed!r}: it must be a whole number, zero or more")
    key = int.from_bytes(hashlib.sha256(f"{int(seed)} {name}".encode()).digest()[:16], "little")
    bits = np.random.Philox(key=key).random_raw(runs)
    # the middle of each of 2^53 cells: neither 0 nor 1, at which quantiles are infinite
    return ((bits >> np.uint64(11)).astype(float) + 0.5) / 2.0**53
