"""A circuit breaker closes: six bars, seven worn pins, a latch and a contact that bounces; three schemes, one time."""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl
from saltus import mechanics as me


def closing(solution: sl.Solution) -> float:
    """Return when the contact closes for the first time [s]."""
    events = solution.events
    return float(events["t"][(events["contact"] == "contact") & (events["kind"] == "impact")][0])


def draw(solution: sl.Solution, path: str) -> None:
    """Draw the mechanism open, on its way and closed, and the angle of the arm."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.6), layout="constrained")
    solution.strobe([0.0, 0.7 * closing(solution), solution.t[-1]], axes=left)
    left.plot([1.5e-3, 1.5e-3], [0.024, 0.034], "k", lw=3.0)
    left.set(title="open (pale), moving, closed")
    t = np.linspace(0.0, solution.t[-1], 2000)
    right.plot(1e3 * t, np.degrees(solution(t).q[:, 2]))
    right.axvline(1e3 * closing(solution), color="k", lw=0.8, ls="--")
    right.set(xlabel="t [ms]", ylabel="angle of the arm [degrees]", title="closing, and bounces of the contact")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    problem = sl.problems.circuit_breaker()
    stepping = sl.MoreauJean(projection=True, solver=sl.contact.Portfolio(tol=1e-10))
    solution = sl.solve(problem, tol=1e-4)
    print(solution)
    times = [closing(solution)]
    for scheme, options in ((sl.EventDriven(), {"tol": 1e-4}), (stepping, {"h": 1e-6})):
        times.append(closing(sl.solve(problem, scheme=scheme, save="events", **options)))
    print("closing after", ", ".join(f"{1e3 * t:.3f} ms" for t in times))
    ideal = sl.solve(sl.problems.circuit_breaker(clearance=0.0), tol=1e-6)
    print(f"with ideal pins after {1e3 * closing(ideal):.3f} ms")
    rest = me.equilibrium(problem)
    print(f"at rest the contact carries {rest.contacts['contact']:.2f} N")
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(solution, sys.argv[1])
    assert max(times) - min(times) < 5e-3 * times[0]
