"""Signorini's and Coulomb's law of some contacts, solved by trying every answer: open, stick, slip forward or back."""

from __future__ import annotations

import itertools

import numpy as np

ANSWERS = ("open", "stick", "forward", "back")


def solve(D, b, mu, closed):
    """Return P with u = D P + b: 0 <= u_N, P_N >= 0, one of them zero, and |P_T| <= mu P_N, against u_T where it slips.

    Rows come in pairs N, T; contacts that are not closed have no impulse. Of all answers the one is taken that breaks
    its inequalities least, which is not at all up to rounding.
    """
    best, least = np.zeros(len(b)), np.inf
    if not any(closed):
        return best
    choices = [ANSWERS if mu[c] > 0.0 else ("open", "forward") for c in range(len(mu))]
    choices = [choices[c] if closed[c] else ("open",) for c in range(len(mu))]
    size = np.abs(b).max() + 1e-300
    for answer in itertools.product(*choices):
        P = _equations(D, b, mu, answer)
        if P is None:
            continue
        u, worst = D @ P + b, 0.0
        for c, kind in enumerate(answer):
            N, T = 2 * c, 2 * c + 1
            if not closed[c]:
                continue
            scale = D[N, N]
            if kind == "open":
                worst = max(worst, -u[N])
                continue
            worst = max(worst, -P[N] * scale)
            if kind == "stick":
                worst = max(worst, (abs(P[T]) - mu[c] * P[N]) * scale)
            elif mu[c] > 0.0:
                worst = max(worst, -u[T] if kind == "forward" else u[T])
        if worst < least:
            best, least = P, worst
        if worst <= 1e-14 * size:
            break
    assert least <= 1e-9 * size, f"no answer obeys the law: the best one breaks it by {least}"
    return best


def _equations(D, b, mu, answer):
    """Return the P of one answer, or None where it has none."""
    A, rhs = np.eye(len(b)), np.zeros(len(b))
    for c, kind in enumerate(answer):
        N, T = 2 * c, 2 * c + 1
        if kind == "open":
            continue
        A[N], rhs[N] = D[N], -b[N]
        if kind == "stick":
            A[T], rhs[T] = D[T], -b[T]
        else:
            A[T, N] = mu[c] if kind == "forward" else -mu[c]
    try:
        P = np.linalg.solve(A, rhs)
    except np.linalg.LinAlgError:
        return None
    P[np.repeat([kind == "open" for kind in answer], 2)] = 0.0  # exactly, which no elimination promises
    return P


def normal(e, u):
    """Return e u_N in the normal rows and zero in the others."""
    return np.where(np.arange(len(u)) % 2 == 0, np.repeat(e, 2) * u, 0.0)
