"""One contact of many runs: the exact solutions of contact/direct.py and laws/, by selection in place of branches."""

from __future__ import annotations

from typing import Any

from saltus.ensemble.lanes_text import Code, Lane
from saltus.laws.coulomb_planar import PLANAR


def one_contact(
    code: Code, layout: Any, W: list[Lane], X: list[list[Lane]], first: int, end: int, mu: Lane, b: list[Lane]
) -> tuple[list[Lane], Lane]:
    """Return the impulses of a contact alone, u = D P + b, and where its law has no solution that lanes can find."""
    D = [[_mobility(code, layout, W, X, r, c) for c in range(first, end)] for r in range(first, end)]
    if end - first > 1:
        return _planar(code, D, mu, b)
    closed = b[0] < 0.0
    # a model with several contacts is solved by Lemke's method, which rounds otherwise than a division
    P = -b[0] / D[0][0] if int(layout.nc) == 1 else _pivoted(code, layout, W, X[first], first, D[0][0], b[0])
    return [code.select(closed, P, 0.0)], closed & ~(D[0][0] > 0.0)


def _pivoted(code: Code, layout: Any, W: list[Lane], X: list[Lane], row: int, D: Lane, b: Lane) -> Lane:
    """Return the impulse of one closed row as contact/lemke.py finds it: scaled, pivoted, refined once."""
    scaling = 1.0 / code.intrinsic("llvm.sqrt.f64", D)
    factor = 1.0 / (D * (scaling * scaling))
    P = (scaling * code.fabs(scaling * b)) * factor
    begin, end = int(layout[layout.X_ptr + row]), int(layout[layout.X_ptr + row + 1])
    y = {int(layout[layout.X_col + k]): 0.0 + P * X[k - begin] for k in range(begin, end)}
    u = b
    for k in range(int(layout[layout.W_ptr + row]), int(layout[layout.W_ptr + row + 1])):
        u = u + W[k] * y.get(int(layout[layout.W_col + k]), 0.0)
    P = P + scaling * (0.0 + (-factor * scaling) * u)
    return code.select(P > 0.0, P, 0.0)


def _mobility(code: Code, layout: Any, W: list[Lane], X: list[list[Lane]], r: int, c: int) -> Lane:
    """Return what a unit impulse in row c does to row r."""
    begin, end = int(layout[layout.X_ptr + c]), int(layout[layout.X_ptr + c + 1])
    y = {int(layout[layout.X_col + k]): X[c][k - begin] for k in range(begin, end)}
    total = code.lane(0.0)
    for k in range(int(layout[layout.W_ptr + r]), int(layout[layout.W_ptr + r + 1])):
        total = total + W[k] * y.get(int(layout[layout.W_col + k]), 0.0)
    return total


def _planar(code: Code, D: list[list[Lane]], mu: Lane, b: list[Lane]) -> tuple[list[Lane], Lane]:
    """Coulomb's law in the plane: take-off, slip one way or the other, or stick; see laws/coulomb_planar.py."""
    (D_NN, D_NT), (D_TN, D_TT) = D
    closed, aside = b[0] < 0.0, code.fabs(b[1])
    size = code.select(aside > -b[0], aside, -b[0])
    b_N, b_T = -b[0] / size, b[1] / size
    center = b_T * D_NN + b_N * D_TN
    slope = mu * (b_N * D_TT + b_T * D_NT)
    right, left = D_NN - mu * D_NT, D_NN + mu * D_NT
    to_right = (right > 0.0) & ((center - slope) >= 0.0)
    to_left = (left > 0.0) & ((center + slope) <= 0.0)
    P_right, P_left = -b[0] / right, -b[0] / left
    schur = D_TT - D_TN * D_NT / D_NN
    mobile = schur > 1e-14 * D_TT
    P_N, P_T, u_N, u_T = code.lane(0.0), code.lane(0.0), b[0], b[1]
    for _ in range(2):
        step = code.select(mobile, (u_T - D_TN * u_N / D_NN) / schur, 0.0)
        P_N = P_N - (u_N - D_NT * step) / D_NN
        P_T = P_T - step
        u_N, u_T = D_NN * P_N + D_NT * P_T + b[0], D_TN * P_N + D_TT * P_T + b[1]
    P_N, P_T = code.select(to_left, P_left, P_N), code.select(to_left, mu * P_left, P_T)
    P_N, P_T = code.select(to_right, P_right, P_N), code.select(to_right, -mu * P_right, P_T)
    regular = (D_TT > PLANAR.immobile * (D_NN + code.fabs(D_TT))) & (schur > PLANAR.suspect * D_TT) & (D_NN > 0.0)
    return [code.select(closed, P_N, 0.0), code.select(closed, P_T, 0.0)], closed & ~regular
