"""Reference solutions by DOP853 (Hairer, Norsett, Wanner 1993) at the edge of double precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from saltus.errors import RunError
from saltus.system import arity

if TYPE_CHECKING:
    from scipy.integrate import OdeSolution

RELATIVE_TOLERANCE = 2.3e-14  # the smallest that scipy accepts without changing it
ABSOLUTE_TOLERANCE = 1e-15


def integrate(rhs: Callable, y0: ArrayLike, t_end: float, max_step: float, event: Callable | None = None):
    """One scipy run from t = 0 with dense output; max_step [s] keeps the interpolant as good as the steps."""
    from scipy.integrate import solve_ivp  # here, because scipy takes as long to import as all of saltus

    run = solve_ivp(
        rhs,
        (0.0, t_end),
        y0,
        method="DOP853",
        rtol=RELATIVE_TOLERANCE,
        atol=ABSOLUTE_TOLERANCE,
        max_step=max_step,
        dense_output=True,
        events=event,
    )
    if not run.success:
        raise RunError(f"the reference stopped at t = {run.t[-1]:.6g}: {run.message}; change the parameters")
    return run


class SmoothReference:
    """q(t), v(t) of M(q) v' = f, q' = q_dot(q, v) without contacts, integrated at the first call.

    f is a function of (q, v) or (t, q, v).
    """

    def __init__(self, M, f, q0, v0, t_end: float, max_step: float, q_dot=lambda q, v: v) -> None:
        self.M, self.q_dot = M, q_dot
        self.f = f if arity(f, "the force of a reference", rate=True) == 3 else lambda t, q, v: f(q, v)
        self.q0, self.v0 = np.atleast_1d(np.asarray(q0, float)), np.atleast_1d(np.asarray(v0, float))
        self.t_end, self.max_step = t_end, max_step

    @cached_property
    def solution(self) -> OdeSolution:
        nq = self.q0.size

        def rhs(t, y):
            q, v = y[:nq], y[nq:]
            return np.concatenate([self.q_dot(q, v), np.linalg.solve(self.M(q), self.f(t, q, v))])

        return integrate(rhs, np.concatenate([self.q0, self.v0]), self.t_end, self.max_step).sol

    def q(self, t):
        """Positions, (nq,) or (n, nq)."""
        return self.solution(np.asarray(t, float)).T[..., : self.q0.size]

    def v(self, t):
        """Velocities, (nv,) or (n, nv)."""
        return self.solution(np.asarray(t, float)).T[..., self.q0.size :]
