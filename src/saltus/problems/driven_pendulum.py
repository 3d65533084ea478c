"""Driven damped pendulum against a wall (parameters our own); reference: DOP853 restarted at impacts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import acos, ceil, cos, pi, sin

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._reference import integrate
from ._sketches import pendulum

MAX_STEP = 0.02  # [s], keeps the dense output of the reference near 1e-14 and no landing unseen
STICKING_SPEED = 1e-8  # [rad/s], slower launches towards a pressing wall are the end of a Zeno sequence


def driven_pendulum(
    *,
    damping: float = 0.05,
    amplitude: float = 0.3,
    frequency: float = 1.3,
    wall: float = -0.4,
    e: float = 0.7,
    q0: float = 1.0,
    v0: float = 0.0,
    t_end: float = 20.0,
) -> Problem:
    """q'' = -sin q - damping q' + amplitude cos(frequency t), q >= wall; reference good to about 1e-13.

    damping [1/s], amplitude [1/s^2], frequency [rad/s], wall [rad], e [-], q0 [rad] >= wall, v0 [rad/s],
    t_end [s].
    The reference is computed when it is first asked for.
    """
    if q0 < wall:
        raise ModelError(f"driven_pendulum starts inside the wall: q0 = {q0} < wall = {wall}; choose q0 >= wall")
    system = System(
        M=1.0,
        f=lambda t, q, v: [-np.sin(q[0]) - damping * v[0] + amplitude * np.cos(frequency * t)],
        contacts=[Contact(lambda q: q[0] - wall, e=e, name="wall")],
        name="driven_pendulum",
        scene=pendulum((1.0,)),
    )
    reference = _Reference(damping, amplitude, frequency, wall, e, q0, v0, t_end)
    exact = Exact(reference.q, reference.v, reference.impulse, jumps=_Jumps(reference))
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="driven_pendulum")


class _Reference:
    """Flights and rests in turn; a flight counts gap and time from its own start: short ones stay exact."""

    def __init__(self, damping, amplitude, frequency, wall, e, q0, v0, t_end) -> None:
        self.damping, self.amplitude, self.frequency = damping, amplitude, frequency
        self.wall, self.e, self.q0, self.v0, self.t_end = wall, e, q0, v0, t_end

    def _flight(self, t_start, gap, v):
        def rhs(tau, y):
            drive = self.amplitude * cos(self.frequency * (t_start + tau))
            return [y[1], -sin(self.wall + y[0]) - self.damping * y[1] + drive]

        def landing(tau, y):
            # gap over time: positive at a launch from the wall, so only the landing is a root
            return y[0] / tau if tau > 0.0 else 1.0

        landing.terminal, landing.direction = True, -1.0
        return integrate(rhs, [gap, v], self.t_end - t_start, MAX_STEP, landing)

    def _pressing(self, t):
        """Force of the wall on a resting pendulum, negative where it would lift off."""
        return sin(self.wall) - self.amplitude * cos(self.frequency * t)

    def _release(self, t):
        """Next time at which the pressing force falls through zero."""
        ratio = sin(self.wall) / self.amplitude if self.amplitude else np.inf
        if abs(ratio) >= 1.0 or self.frequency == 0.0:
            return np.inf
        phase = -acos(ratio) if self.amplitude > 0.0 else acos(ratio)
        turn = 2.0 * pi / abs(self.frequency)
        first = phase / abs(self.frequency)
        return first + turn * ceil((t - first) / turn)

    @cached_property
    def _pieces(self):
        """(start, impulse so far, dense flight or None for rest) of every piece, and the jump times."""
        pieces, jumps = [], []
        t, gap, v, impulse = 0.0, self.q0 - self.wall, self.v0, 0.0
        while t < self.t_end:
            if gap <= 0.0 and v < 0.0:
                launch = -self.e * v
                if launch < STICKING_SPEED and self._pressing(t) > 0.0:
                    launch = 0.0
                impulse += launch - v
                gap, v = 0.0, launch
                jumps.append(t)
            if gap <= 0.0 and v == 0.0 and self._pressing(t) > 0.0:
                pieces.append((t, impulse, None))
                t_new = self._release(t)
                impulse += self._held(t, min(t_new, self.t_end))
                t = t_new
                if t >= self.t_end:
                    break
            run = self._flight(t, gap, v)
            pieces.append((t, impulse, run.sol))
            if run.status != 1:
                break
            t, gap, v = t + run.t[-1], 0.0, run.y[1, -1]
        return pieces, np.array(jumps)

    def _held(self, t_start, t):
        # integral of cos(frequency t), written so that frequency = 0 is no exception
        middle, half = self.frequency * (t + t_start) / 2.0, self.frequency * (t - t_start) / 2.0
        mean = np.cos(middle) * np.sinc(half / pi)
        return (sin(self.wall) - self.amplitude * mean) * (t - t_start)

    def _evaluate(self, t):
        """Gap, velocity and impulse at t (right limits)."""
        pieces, _ = self._pieces
        t = np.asarray(t, float)
        values = np.zeros((3, t.size))
        times = t.ravel()
        owner = np.maximum(np.searchsorted([start for start, _, _ in pieces], times, side="right") - 1, 0)
        for k in np.unique(owner):
            start, impulse, flight = pieces[k]
            mine = owner == k
            values[2, mine] = impulse
            if flight is None:
                values[2, mine] += self._held(start, times[mine])
            else:
                values[:2, mine] = flight(times[mine] - start)
        return values.reshape((3, *t.shape))[..., None]

    def q(self, t):
        return self.wall + self._evaluate(t)[0]

    def v(self, t):
        return self._evaluate(t)[1]

    def impulse(self, t):
        return self._evaluate(t)[2]

    @property
    def jumps(self):
        return self._pieces[1]


class _Jumps(Sequence):
    """The impact times of a reference, found when they are first looked at."""

    def __init__(self, reference: _Reference) -> None:
        self._reference = reference

    def __len__(self) -> int:
        return len(self._reference.jumps)

    def __getitem__(self, index):
        return self._reference.jumps[index]
