"""Flights by Galerkin intervals: settings and sizes of HpTDG."""

from __future__ import annotations

from math import log10
from typing import NamedTuple

import numpy as np

from saltus.flight.flight import Flight, make_flight
from saltus.flight.frame import FROM_PROMISE
from saltus.lasting.interval import interval_sizes
from saltus.memory.layout import Layout
from saltus.schemes.hp_tdg.numbers import galerkin_numbers, galerkin_room
from saltus.schemes.hp_tdg.phase import galerkin_phase
from saltus.tables.stored import RAISED


class _HpFlight(NamedTuple):
    """Tuned numbers of this file."""

    share: float = 0.5  # of the tolerance, for one interval: errors add up over a run
    # flights that have the same share of the tolerance each; degrees that may have less
    many_flights: float = 500.0
    high: int = 8
    allowed_drift: float = 1e3  # of what is held, over the tolerance
    leap: float = 0.05  # of a state where branches change, over the tolerance: what moves gaps by more is a jump
    # over the share of the tolerance: what the equations of motion may miss; good intervals miss 0.1
    missed: float = 20.0
    most_sweeps: int = 30  # of an interval; one that needs more is made shorter


HP_FLIGHT = _HpFlight()


def galerkin_flight(
    layout: Layout, contact_solver, *, tol: float, nodes: str, degree: int | None, top: int, zeno: float | None,
    projection_tolerance: float,
) -> Flight:  # fmt: skip
    """Return a flight by intervals of one degree, or of degrees up to `top`; its promise fills in the thresholds."""
    highest = degree or top
    # more flights for a smaller share, a smaller share for more flights: only high degrees come to an end with that
    many = HP_FLIGHT.many_flights if highest >= HP_FLIGHT.high and degree is None else np.inf
    zeno = FROM_PROMISE if zeno is None else zeno
    # degrees grow with the digits that are asked for; after the first interval its polynomial decides
    first = degree or min(top, max(3, round(1.0 - 0.7 * log10(tol))))
    return make_flight(
        layout,
        {
            "projected": projection_tolerance, "most": HP_FLIGHT.most_sweeps, "rtol": HP_FLIGHT.share * tol,
            "atol": HP_FLIGHT.share * tol,
            "zeno": zeno, "drift": HP_FLIGHT.allowed_drift, "many": many,
            "leap": HP_FLIGHT.leap if degree is None else HP_FLIGHT.allowed_drift,
            "misses": HP_FLIGHT.missed if degree is None else 0.0,
        },
        lambda begin: galerkin_numbers(nodes, highest, first, degree is not None, begin),
        galerkin_phase, galerkin_room(layout, highest), most_nodes=highest + RAISED + 1,
        interval=interval_sizes(layout, contact_solver),
    )  # fmt: skip
