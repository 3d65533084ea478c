"""Flights by Runge-Kutta methods: settings and sizes of EventDriven, AnyOrder and the adaptive Splitting."""

from __future__ import annotations

import numpy as np

from saltus.laws import coulomb_spatial
from saltus.layout import F_FREE, FLAGS, KIND, NC, NV
from saltus.stages.flight import Flight, make_flight
from saltus.stages.frame import FROM_PROMISE
from saltus.stages.interval import (
    HOLD_AT,
    LARGEST,
    MOST,
    NEWTON,
    PROJECTED,
    SETTINGS,
    STAGE_AT,
    TOLERANCE,
    evaluate_work,
    interval_work,
    stage_size,
)
from saltus.stages.packed_methods import IMPLICIT, packed_implicit, packed_method
from saltus.stages.phase_explicit import RUNGE_KUTTA, explicit_phase, phase_numbers
from saltus.stages.phase_implicit import implicit_phase
from saltus.stages.runge_kutta import table
from saltus.stages.smooth_step import NODES, smooth_size

ALLOWED_DRIFT = 1e3  # of what is held, over the tolerance
MISSED = 500.0  # over the tolerance: what the equations of motion may miss in dense output, whose order is lower


def runge_kutta_flight(
    layout: np.ndarray, contact_solver, method: str, *, estimates: bool, zeno: float | None, rtol: float,
    atol: float, newton_tolerance: float, projection_tolerance: float, window: tuple[float, float], anticipates: bool,
) -> Flight:  # fmt: skip
    """Return a flight by a method of stages/packed_methods.py; its promise fills in the thresholds."""
    shared = np.zeros(SETTINGS)
    shared[PROJECTED] = projection_tolerance
    zeno = FROM_PROMISE if zeno is None else zeno
    implicit, stages = method in IMPLICIT, len(table(method).c)
    own, interval = {"stages": smooth_size(layout, int(packed_method(method)[0])), "solved": 0, "pivots": 0}, 0
    if implicit:
        spatial = any(int(layout[layout[KIND] + c]) == coulomb_spatial.KIND for c in range(int(layout[NC])))
        newton = spatial or not int(layout[FLAGS]) & F_FREE
        shared[TOLERANCE], shared[MOST], shared[NEWTON], shared[LARGEST] = newton_tolerance, 30, newton, stages
        shared[STAGE_AT] = interval_work(layout, stages, newton) + int(layout[NV]) ** 2
        shared[HOLD_AT] = shared[STAGE_AT] + evaluate_work(layout, stages)
        own |= {"solved": stage_size(layout, stages), "pivots": int(layout[NV])}
        interval = int(shared[HOLD_AT])
    return make_flight(
        layout, contact_solver, shared,
        [rtol, atol, zeno, ALLOWED_DRIFT, *window, float(anticipates), np.inf, 0.0, MISSED if estimates else 0.0],
        lambda begin: phase_numbers(
            method, begin, estimates=estimates, staged=packed_implicit(method) if implicit else None,
        ),
        implicit_phase if implicit else explicit_phase, RUNGE_KUTTA.plan(own), most_nodes=NODES, interval=interval,
    )  # fmt: skip
