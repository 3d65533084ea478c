"""One driven point above one wall: flights between impacts, rests on the wall and releases from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isinf
from typing import NamedTuple

from ._landing import landing


class Flight(NamedTuple):
    """gap(tau) -> gap [m] and its rate [m/s], and a bound of its acceleration [m/s^2]."""

    gap: Callable
    bound: float


class Hop(NamedTuple):
    """A flight, or a rest where flight is None, from the time start [s]."""

    start: float
    flight: Flight | None
    rate_minus: float  # of the gap before the impact that starts it, if one does [m/s]
    rate: float
    jump: bool


class Opening(NamedTuple):
    """When a gap that is closed and at rest is next pulled open, and until when it surely stays so [s]."""

    begin: float  # inf if never
    sure: float


def hops(
    flight: Callable[[float, float, float], Flight],
    opening: Callable[[float], Opening],
    gap: float,
    rate: float,
    e: float,
    still: float,
    t_end: float,
) -> Iterator[Hop]:
    """Yield flights and rests up to t_end [s] from a gap [m] and its rate [m/s].

    flight(t, gap, rate): the motion from there; opening(t): the pull that opens a gap at rest at t or next after it.
    A launch slower than still [m/s] towards a pressing wall ends an accumulation of impacts: the last one is plastic,
    which leaves an error of the order of still^2.
    """
    t, surely_open = 0.0, 0.0
    while True:
        rate_minus, jump = rate, gap <= 0.0 and rate < 0.0
        if jump:
            rate = -e * rate
            if rate < still and opening(t).begin > t:
                rate = 0.0
        if gap <= 0.0 and rate == 0.0:
            pull = opening(t)
            if pull.begin > t:
                yield Hop(t, None, rate_minus, 0.0, jump)
                if pull.begin > t_end:
                    return
                t, rate_minus, jump = pull.begin, 0.0, False
            surely_open = pull.sure - t
        path = flight(t, gap, rate)
        yield Hop(t, path, rate_minus, rate, jump)
        tau = landing(path.gap, path.bound, t_end - t, surely_open)
        if isinf(tau):
            return
        t, gap, rate, surely_open = t + tau, 0.0, float(path.gap(tau)[1]), 0.0
