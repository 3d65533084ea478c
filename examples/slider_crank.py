"""Slider-crank whose slider rattles in its guide: when does it strike first, and what do the impacts cost?"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

import saltus as sl


def run(h: float = 1e-5, t_end: float = 0.05) -> sl.Solution:
    """The first crank revolution of the mechanism of Flores, Leine and Glocker (2010)."""
    return sl.solve(sl.problems.slider_crank(t_end=t_end), scheme=sl.MoreauJean(theta=0.5), h=h)


def first_strike() -> float:
    """Return the time of the first contact [s]: smooth motion by scipy up to the first zero of a gap."""
    problem = sl.problems.slider_crank()
    system = problem.system

    def smooth(t, y):
        q, v = y[:3], y[3:]
        return np.concatenate([v, np.linalg.solve(system.M(q), system.f(t, q, v))])

    def touch(t, y):
        return min(contact.gap(y[:3]) for contact in system.contacts)

    touch.terminal = True
    y0 = np.concatenate([problem.q0, problem.v0])
    motion = solve_ivp(smooth, (0.0, 0.01), y0, events=touch, rtol=1e-10, atol=1e-12)
    return float(motion.t_events[0][0])


if __name__ == "__main__":
    solution = run()
    impacts = solution.events[solution.events["kind"] == "impact"]
    print(solution)
    print(f"first strike at {impacts['t'][0] * 1e3:.3f} ms (scipy: {first_strike() * 1e3:.3f} ms)")
    lost, had = solution.energy.dissipation[-1].sum(), solution.energy.kinetic[0]
    print(f"impacts and friction took {lost:.3f} J of {had:.3f} J")
    print(f"deepest penetration {solution.violation.max() * 1e6:.1f} um of 1000 um clearance")
    assert abs(impacts["t"][0] - first_strike()) < 2e-5
