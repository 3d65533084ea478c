"""Paoli's ball: the scheme follows its closed form, the impact comes up to one step late.

Run it: python examples/paoli_velocity.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

E, H = 0.5, np.sqrt(2.0) / 100.0  # restitution, step [s]: no node lies on the impact


def closed_form(n: int) -> np.ndarray:
    """Return the positions that the source prints: p is the last node before the wall."""
    i = np.arange(n + 1)
    p = int(np.ceil(1.0 / H)) - 1
    return np.where(i <= p + 1, 1.0 - i * H, 1.0 - (p + 1) * H + E * (i - p - 1) * H)


if __name__ == "__main__":
    n = 140
    ball = sl.problems.paoli_ball(e=E, t_end=n * H)
    sol = sl.solve(ball, scheme=sl.PaoliVelocity(between="constant"), h=H)
    apart = np.abs(sol.q[:, 0] - closed_form(n)).max()
    late = np.abs(sol.q - ball.exact.q(sol.t)).max()
    print(f"from the closed form: {apart:.0e} m; from the exact motion: {late:.4f} m, bound {(1.0 + E) * H:.4f} m")
    assert apart < 1e-13 and late < (1.0 + E) * H
    assert sol(sol.t[50] + 0.7 * H).v == sol.v[50]  # constant in a step, as in the source
