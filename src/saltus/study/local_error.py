"""Local error of one step (Acary, Lecture 2, eqs. 60, 66, 67, 72): what a scheme loses from an exact start."""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.errors import SettingError
from saltus.problem import Problem
from saltus.solve import solve


@dataclasses.dataclass(frozen=True, eq=False)
class LocalError:
    """Exact minus computed state at the end of one step: e_q, e_v, and the impulse of the step [N s]."""

    e_q: np.ndarray
    e_v: np.ndarray
    impulse: np.ndarray


def local_error(problem: Problem, scheme, *, t: float, h: float) -> LocalError:
    """Make one step of size h [s] from the exact state at time t [s] and return its error.

    Through an impact, Moreau-Jean has e_q = O(h), and e_v = O(h) if the step forecasts the impact (66), else
    e_v = O(1) (67).
    """
    exact = problem.exact
    if exact is None:
        raise SettingError(f"{problem.name or 'the problem'} has no exact solution: a local error starts from one")
    run = solve(problem, (t, t + h), exact.q(t), exact.v(t), scheme=scheme, h=h, progress=False)
    end = run.t[-1]
    return LocalError(exact.q(end) - run.q[-1], exact.v(end) - run.v[-1], run.impulse.sum(axis=0))


def ball_local_error(
    *, h: float, sigma: float, v_k: float, f: float, e: float, theta: float, forecast: bool
) -> LocalError:
    """Return the local error of Moreau-Jean on a ball of mass 1 in closed form, eq. (72) without its misprints.

    Parameters
    ----------
    h
        Step size [s].
    sigma
        Share of the step at which the ball hits the floor, in (0, 1].
    v_k
        Velocity at the start of the step [m/s], q_k = -sigma h v_k - f (sigma h)^2 / 2 >= 0.
    f
        Constant force per mass, negative [m/s^2].
    e, theta
        Restitution and implicitness of the scheme.
    forecast
        Whether the step knows of the impact (p > 0) or not (p = 0).
    """
    if not 0.0 < sigma <= 1.0:
        raise SettingError(f"sigma is {sigma}: the impact must lie in the step, 0 < sigma <= 1")
    v_minus = v_k + h * f * sigma
    if -sigma * h * v_k - f * (sigma * h) ** 2 / 2.0 < 0.0 or v_minus >= 0.0:
        raise SettingError(f"v_k = {v_k} and f = {f} do not lead from above to the floor: take v_k < 0")
    if f < 0.0 and -2.0 * e * v_minus / -f < (1.0 - sigma) * h and sigma < 1.0:
        raise SettingError(f"e = {e} brings the ball back to the floor within the step: take a smaller h")
    shape = -e * sigma * (1.0 - sigma) + (1.0 - sigma) ** 2 / 2.0 + sigma**2 / 2.0
    if forecast:
        e_v = h * f * (1.0 - sigma - e * sigma)
        e_q = -h * (1.0 + e) * (1.0 - theta - sigma) * v_k + f * h**2 * shape
        P = -(1.0 + e) * v_k - h * f
    else:
        e_v = -(1.0 + e) * v_minus
        e_q = -h * (1.0 + e) * (1.0 - sigma) * v_k + f * h**2 * (shape - theta)
        P = 0.0
    return LocalError(np.array([e_q]), np.array([e_v]), np.array([P]))
