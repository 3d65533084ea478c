"""Rod dropped flat-ish on a floor: both ends clatter and come to rest together (parameters our own)."""

from __future__ import annotations

from math import cos, isinf, sin, sqrt

import numpy as np

from saltus.errors import ModelError, RunError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._landing import landing
from ._pieces import Motion, Piece, Pieces
from ._reference import integrate
from ._sketches import rod_on_floor

STILL = (
    1e-13  # of sqrt(gravity half_length): slower launches end an accumulation; the state is then wrong by its square
)
MAX_STEP = 0.02  # of sqrt(half_length/gravity), in the reference of a rod that turns about a resting end
SIDES = (-1.0, 1.0)  # gap = y + side half_length sin(theta)


def clattering_rod(
    *,
    mass: float = 1.0,
    half_length: float = 1.0,
    gravity: float = 1.0,
    e: float = 0.5,
    y0: float = 1.2,
    theta0: float = 0.2,
    t_end: float = 4.0,
) -> Problem:
    """q = (y, theta), gaps of the ends y -+ half_length sin(theta), M = diag(mass, mass half_length^2/3), from rest.

    mass [kg], half_length [m], gravity [m/s^2] > 0, e [-] of both ends, y0 [m] of the centre, theta0 [rad] in (-pi/2,
    pi/2), t_end [s]. The impulses of both ends add up to mass (v - v0 + gravity t); at rest each end carries half the
    weight. The reference is found at first use: parabolas and rotations between impacts, DOP853 where the rod turns
    about an end that has come to rest; good to about 1e-14.
    """
    if min(mass, half_length, gravity) <= 0.0 or not abs(theta0) < np.pi / 2:
        raise ModelError(
            f"clattering_rod needs mass, half_length, gravity > 0 and |theta0| < pi/2: mass = {mass}, half_length = "
            f"{half_length}, gravity = {gravity}, theta0 = {theta0}; change them"
        )
    if y0 < half_length * abs(np.sin(theta0)):
        raise ModelError(f"clattering_rod starts in the floor: y0 = {y0}, theta0 = {theta0}; choose a larger y0")
    rod = _Rod(mass, half_length, gravity, e)

    def end(side: float, name: str) -> Contact:
        return Contact(lambda q: q[0] + side * half_length * np.sin(q[1]), e=e, name=name)

    system = System(
        M=[mass, mass * half_length**2 / 3.0],
        f=[-mass * gravity, 0.0],
        contacts=[end(SIDES[0], "end 1"), end(SIDES[1], "end 2")],
        name="clattering_rod",
        scene=rod_on_floor(2.0 * half_length, turning=1.0, free=False, contacts=("end 1", "end 2")),
    )
    exact = Pieces(lambda: rod.pieces(y0, theta0, t_end)).exact()
    return Problem(system, (0.0, t_end), [y0, theta0], [0.0, 0.0], exact=exact, name="clattering_rod")


class _Rod:
    """State q = (y, theta), v, the two gaps (carried along, so that a closed one is zero) and impulses."""

    def __init__(self, mass, half_length, gravity, e) -> None:
        self.mass, self.length, self.gravity, self.e = mass, half_length, gravity, e
        self.still = STILL * sqrt(gravity * half_length)
        self.M = np.array([mass, mass * half_length**2 / 3.0])

    def directions(self, theta):
        """W^T: a row per end."""
        return np.array([[1.0, side * self.length * cos(theta)] for side in SIDES])

    def pieces(self, y0, theta0, t_end):
        t, q, v, impulse, jump = 0.0, np.array([y0, theta0]), np.zeros(2), np.zeros(2), False
        gaps = np.array([y0 + side * self.length * sin(theta0) for side in SIDES])
        held: int | None = None
        while True:
            closed = gaps <= 0.0
            jump = bool(np.any(closed & (self.directions(q[1]) @ v < 0.0)))
            if jump:
                v, P, resting = self.impact(q[1], v, closed)
                impulse = impulse + P
            else:
                resting = closed & (np.abs(self.directions(q[1]) @ v) < self.still)
            if resting.all():
                yield Piece(t, self.rest(impulse), jump)
                return
            held = int(np.argmax(resting)) if resting.any() else None
            if held is None:
                yield Piece(t, self.flight(q, v, impulse), jump)
                tau, gaps = self.landing(q, v, gaps, t_end - t)
                if isinf(tau):
                    return
                state = self.flight(q, v, impulse)(np.array([tau]))
                q, v = state.q[0], state.v[0]
            else:
                run = self.pivot(q, v, held, t_end - t)
                motion = self.turning(run, v, held, impulse)
                yield Piece(t, motion, jump)
                if run.status != 1:
                    return
                tau = run.t[-1]
                state = motion(np.array([tau]))
                q, v, impulse, gaps = np.zeros(2), state.v[0], state.impulse[0], np.zeros(2)
            t += tau

    def impact(self, theta, v, closed):
        """Newton's law at the closed ends; an end that leaves too slowly is taken as plastic and rests."""
        resting = np.zeros(2, bool)
        while True:
            e = np.where(resting, 0.0, self.e)
            P = self.impulses(theta, v, closed, e)
            v_plus = v + self.directions(theta).T @ P / self.M
            slow = closed & (P > 0.0) & (self.directions(theta) @ v_plus < self.still)
            if not np.any(slow & ~resting):
                return v_plus, P, slow
            resting |= slow

    def impulses(self, theta, v, closed, e):
        """P >= 0, complementary to u_plus + e u_minus >= 0, by trying all sets of ends that push."""
        WT = self.directions(theta)
        D, b = (WT / self.M) @ WT.T, (1.0 + e) * (WT @ v)
        for pushing in ([0, 1], [0], [1]):
            if not closed[pushing].all():
                continue
            P = np.zeros(2)
            P[pushing] = np.linalg.solve(D[np.ix_(pushing, pushing)], -b[pushing])
            left = (D @ P + b)[closed]
            if np.all(P >= 0.0) and np.all(left >= -1e-14 * np.abs(b).max()):
                return P
        raise RunError("clattering_rod: an impact has no solution; change the parameters")

    def flight(self, q, v, impulse):
        fall = np.array([-self.gravity, 0.0])

        def motion(tau):
            tau = tau[..., None]
            return Motion(q + v * tau + fall * tau**2 / 2.0, v + fall * tau, np.repeat(impulse[None], tau.size, axis=0))

        return motion

    def landing(self, q, v, gaps, longest):
        """Time until the first end lands, and the gaps then."""

        def gap(end, tau):
            half = v[1] * tau / 2.0
            # sin(theta + 2 half) - sin(theta) without cancellation
            lift = 2.0 * np.cos(q[1] + half) * np.sin(half)
            value = gaps[end] + v[0] * tau - self.gravity * tau**2 / 2.0 + SIDES[end] * self.length * lift
            return value, v[0] - self.gravity * tau + SIDES[end] * self.length * v[1] * np.cos(q[1] + 2.0 * half)

        bound = self.gravity + self.length * v[1] ** 2
        times = [landing(lambda tau, end=end: gap(end, tau), bound, longest) for end in (0, 1)]
        tau = min(times)
        if isinf(tau):
            return tau, gaps
        return tau, np.array([0.0 if times[end] == tau else gap(end, tau)[0] for end in (0, 1)])

    def pivot(self, q, v, held, duration):
        """Turn about a resting end until the other one lands, at theta = 0."""
        side = SIDES[held]

        def acceleration(theta, w):
            return (side * self.gravity / self.length + sin(theta) * w**2) * cos(theta) / (cos(theta) ** 2 + 1.0 / 3.0)

        def rhs(tau, y):
            return [y[1], acceleration(y[0], y[1])]

        def lands(tau, y):
            # angle over time: positive at a launch from the floor, so only the landing is a root
            return -side * y[0] / tau if tau > 0.0 else 1.0

        lands.terminal, lands.direction = True, -1.0
        run = integrate(rhs, [q[1], v[1]], duration, MAX_STEP * sqrt(self.length / self.gravity), lands)
        # acceleration of the centre above free fall, which the resting end must supply
        theta, w = run.y
        lift = -side * self.length * (np.cos(theta) * np.vectorize(acceleration)(theta, w) - np.sin(theta) * w**2)
        if np.any(lift + self.gravity < 0.0):
            raise RunError("clattering_rod: a resting end is lifted off again; choose a smaller theta0 or y0")
        return run

    def turning(self, run, v, held, impulse):
        side = SIDES[held]

        def motion(tau):
            theta, w = run.sol(tau)
            q = np.stack([-side * self.length * np.sin(theta), theta], axis=-1)
            speed = np.stack([-side * self.length * np.cos(theta) * w, w], axis=-1)
            total = np.repeat(impulse[None], tau.size, axis=0)
            total[:, held] += self.mass * (speed[:, 0] - v[0] + self.gravity * tau)
            return Motion(q, speed, total)

        return motion

    def rest(self, impulse):
        def motion(tau):
            held = self.mass * self.gravity / 2.0 * tau
            return Motion(np.zeros((tau.size, 2)), np.zeros((tau.size, 2)), impulse + held[:, None])

        return motion
