"""Flights by Runge-Kutta methods: settings and sizes of EventDriven, AnyOrder and the adaptive Splitting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltus.flight.flight import Flight, make_flight
from saltus.flight.frame import FROM_PROMISE
from saltus.flight.packed_methods import IMPLICIT_METHODS, packed_implicit, packed_method
from saltus.flight.phase_explicit import RUNGE_KUTTA, explicit_phase, phase_numbers
from saltus.flight.phase_implicit import implicit_phase
from saltus.flight.smooth_step import SMOOTH_STEP
from saltus.lasting.hold import REPORTED
from saltus.lasting.interval import interval_sizes
from saltus.laws import friction_rows
from saltus.memory.layout import F_FREE, Layout, sizes_of
from saltus.tables.runge_kutta import table


class _RungeKuttaTuned(NamedTuple):
    """Tuned numbers of this file."""

    allowed_drift: float = 1e3  # of what is held, over the tolerance
    # of a state where branches change, on rougher dense output, over the tolerance: what moves gaps by more is a jump
    leap: float = 1.5
    most_sweeps: int = 30  # of the iteration for implicit stages
    # over the tolerance: what the equations of motion may miss in dense output, whose order is lower
    missed: float = 500.0


RUNGE_KUTTA_TUNED = _RungeKuttaTuned()


def runge_kutta_flight(
    layout: Layout, contact_solver, method: str, *, estimates: bool, zeno: float | None, rtol: float,
    atol: float, newton_tolerance: float, projection_tolerance: float, window: tuple[float, float], anticipates: bool,
) -> Flight:  # fmt: skip
    """Return a flight by a method of flight/packed_methods.py; its promise fills in the thresholds."""
    given = {"projected": projection_tolerance}
    zeno = FROM_PROMISE if zeno is None else zeno
    implicit, stages = method in IMPLICIT_METHODS, len(table(method).c)
    sizes = {
        **sizes_of(layout),
        "total": int(packed_method(method)[0]),
        "width": REPORTED.first_contact + int(layout.nc),
    }
    sizes |= {"largest": 0, "pivots": 0}
    interval = interval_sizes(layout, contact_solver)
    if implicit:
        spatial = friction_rows(layout) > 1
        newton = spatial or not int(layout.features) & F_FREE
        given |= {"tolerance": newton_tolerance, "most": RUNGE_KUTTA_TUNED.most_sweeps, "newton": float(newton)}
        sizes |= {"largest": stages, "pivots": int(layout.nv)}
        interval = interval_sizes(layout, contact_solver, stages, bool(newton))
    return make_flight(
        layout,
        {
            **given, "rtol": rtol, "atol": atol, "zeno": zeno, "drift": RUNGE_KUTTA_TUNED.allowed_drift,
            "leap": RUNGE_KUTTA_TUNED.leap if estimates else RUNGE_KUTTA_TUNED.allowed_drift,
            "window_factor": window[0],
            "window_power": window[1], "anticipates": float(anticipates), "many": np.inf,
            "misses": RUNGE_KUTTA_TUNED.missed if estimates else 0.0, "rough": 1.0, "ledger": float(estimates),
        },
        lambda begin: phase_numbers(
            method, begin, estimates=estimates, staged=packed_implicit(method) if implicit else None,
        ),
        implicit_phase if implicit else explicit_phase, RUNGE_KUTTA.plan(sizes), most_nodes=SMOOTH_STEP.nodes,
        interval=interval,
    )  # fmt: skip
