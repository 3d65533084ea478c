"""A ball is dribbled: events of the user, one that changes the velocity and one that ends the run.

The floor is a contact. The hand is an event: where the ball comes up to 1 m it is pushed down again, faster than it
came. Once it no longer reaches the hand, it is lost and the run ends. Run it: python examples/dribbled_ball.py
"""

from __future__ import annotations

from math import sqrt

import saltus as sl

GRAVITY, E = 9.81, 0.8  # [m/s^2], restitution of the floor
HAND, PUSH = 1.0, 1.2  # height [m], speed downwards over speed upwards
FIRST_PUSH = 8.0  # [m/s]

floor = sl.Contact(lambda q: q[0], e=E, name="floor")
ball = sl.System(M=0.6, f=-0.6 * GRAVITY, contacts=[floor], name="dribbled ball")
hand = sl.Event(lambda q: q[0] - HAND, direction=+1, reset=lambda t, q, v: (q, [-PUSH * v[0]]), name="hand")
lost = sl.Event(lambda t, q, v: v[0], direction=-1, terminal=True, name="lost")  # the highest point of a flight


def run(tol: float = 1e-8) -> sl.Solution:
    """Dribble until the ball is lost; 10 s would be allowed."""
    return sl.solve(ball, (0.0, 10.0), HAND, -FIRST_PUSH, scheme=sl.EventDriven(), tol=tol, events=[hand, lost])


def exact() -> tuple[int, float, float]:
    """Return the number of pushes after the first, and when and how high the ball is lost [s], [m]."""
    pushes, t, down = 0, 0.0, FIRST_PUSH
    while True:
        strike = sqrt(down**2 + 2.0 * GRAVITY * HAND)
        up = E * strike
        t += (strike - down) / GRAVITY
        left = up**2 - 2.0 * GRAVITY * HAND
        if left < 0.0:
            return pushes, t + up / GRAVITY, up**2 / (2.0 * GRAVITY)
        t += (up - sqrt(left)) / GRAVITY
        pushes, down = pushes + 1, PUSH * sqrt(left)


if __name__ == "__main__":
    sol = run()
    for event in sol.events:
        before, after = sol(event["t"], side="-").v[0], sol(event["t"]).v[0]
        print(f"t = {event['t']:.6f} s  {event['contact']:6s} {event['kind']:7s} {before:+.4f} -> {after:+.4f} m/s")
    pushes, t_lost, height = exact()
    print(sol.message)
    print(
        f"exact: {pushes} pushes, lost at t = {t_lost:.9g} s in a height of {height:.6f} m; found {sol.q[-1, 0]:.6f} m"
    )
    assert sol.status.name == "TERMINATED" and abs(sol.t[-1] - t_lost) < 1e-7
