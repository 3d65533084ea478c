"""A spinning box thrown on the floor: seven coordinates, six velocities, eight corners with 3D friction."""

from __future__ import annotations

import numpy as np

import saltus as sl

HALF_SIZES, MASS = (0.10, 0.06, 0.03), 1.0  # [m], [kg]


def run(h: float = 1e-3, t_end: float = 0.45) -> sl.Solution:
    """Throw the box; the orientation is a unit quaternion (w, x, y, z), kept by `retract`."""
    problem = sl.problems.tumbling_box(half_sizes=HALF_SIZES, mass=MASS, t_end=t_end)
    return sl.solve(problem, scheme=sl.MoreauJean(), h=h)


def spin(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the angular momentum about the centre in world coordinates [N m s]."""
    squares = np.square(HALF_SIZES)
    body = MASS / 3.0 * (squares.sum() - squares) * v[3:]
    w, axis = q[3], q[4:]
    turn = np.cross(axis, body)
    return body + 2.0 * (w * turn + np.cross(axis, turn))


def spin_drift(solution: sl.Solution) -> float:
    """Return the relative change of the angular momentum before the first impact; exact: none."""
    flight = solution.t < solution.events["t"][0]
    momenta = np.array([spin(q, v) for q, v in zip(solution.q[flight], solution.v[flight], strict=True)])
    return float(np.abs(momenta - momenta[0]).max() / np.linalg.norm(momenta[0]))


if __name__ == "__main__":
    solution = run()
    print(solution)
    for event in solution.events[solution.events["kind"] == "impact"]:
        print(f"t = {event['t']:.3f} s  {event['contact']}  P = {np.round(event['impulse'], 3)} N s")
    print(f"angular momentum in flight changes by {spin_drift(solution):.1e} of itself")
    assert spin_drift(solution) < 1e-4
    assert np.abs(np.linalg.norm(solution.q[:, 3:], axis=1) - 1.0).max() < 1e-14
