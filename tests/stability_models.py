"""Models of the tests of stability, and derivatives of runs by differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import saltus as sl

PERIOD_DOUBLING = 2.65334772786  # of the oscillator with e = 0.8 (problems.forced_impact_oscillator)


def oscillator() -> tuple[sl.Parameters, sl.System]:
    """x'' + x = cos(w t) with a stop at 0."""
    p = sl.Parameters(w=2.6, e=0.8)
    stop = sl.Contact(lambda q: -q[0], e=p.e, name="stop")
    return p, sl.System(M=1.0, f=lambda t, q, v: [-q[0] + np.cos(p.w * t)], contacts=[stop])


def belt() -> sl.System:
    """A mass on a belt that sticks to it and slips."""
    contact = sl.Contact(lambda q: q[1], slip=lambda t, q, v: [v[0] - 0.5], mu=0.1, e=0.0, name="belt")
    return sl.System(M=1.0, f=lambda t, q, v: [-q[0], -10.0], contacts=[contact])


def by_differences(end: Callable[[np.ndarray], np.ndarray], n: int, step: float = 1e-4) -> np.ndarray:
    """Return d end / d x at x = 0 by central differences, extrapolated once."""

    def central(h: float) -> np.ndarray:
        return np.column_stack([(end(h * x) - end(-h * x)) / (2.0 * h) for x in np.eye(n)])

    return (4.0 * central(step) - central(2.0 * step)) / 3.0


def end_of(system: sl.System, t_end: float, z: np.ndarray, **options) -> np.ndarray:
    """Return q and v at the end of an exact run."""
    nq = len(z) // 2
    run = sl.solve(system, (0.0, t_end), z[:nq], z[nq:], tol=1e-13, **options)
    return np.concatenate([run.q[-1], run.v[-1]])
