"""Woodpecker toy (Pfeiffer 1984, Glocker 1995): a sleeve with play slides down a pole, a bird pecks on a spring."""

from __future__ import annotations

import numpy as np

from saltus.problem import Problem
from saltus.system import Contact, System

from ._sketches import woodpecker as sketch


def woodpecker(
    *,
    r_O: float = 0.0025,
    r_M: float = 0.0031,
    h_M: float = 0.0058,
    l_M: float = 0.010,
    l_G: float = 0.015,
    h_S: float = 0.02,
    l_S: float = 0.0201,
    m_M: float = 0.0003,
    m_S: float = 0.0045,
    J_M: float = 5e-9,
    J_S: float = 7e-7,
    c_phi: float = 0.0056,
    gravity: float = 9.81,
    e_beak: float = 0.5,
    e_sleeve: float = 0.0,
    mu: float = 0.3,
    q0: tuple[float, float, float] = (0.0, -0.103448275862, -0.2788),
    v0: tuple[float, float, float] = (-0.3411, 0.0, -7.4583),
    t_end: float = 1.0,
) -> Problem:
    """q = (height y of the sleeve, its tilt, tilt of the bird); small angles, so that mass and rows are constant.

    r_O, r_M radii of pole and sleeve, h_M half height of the sleeve, l_M, l_G arms from sleeve to spring and from
    spring to the bird, h_S, l_S place of the beak [m]; m_M, m_S masses [kg], J_M, J_S inertias [kg m^2] of sleeve
    and bird; c_phi stiffness of the spring [N m/rad]; gravity [m/s^2]; e_beak, e_sleeve restitution, mu friction [-];
    q0 [m, rad], v0, t_end [s]. The beak pecks the pole, the sleeve jams at its lower and its upper edge; it starts
    jammed at the lower one (the published tilt of -0.1036 rad sinks in by 0.9 um).
    """
    M = [
        [m_S + m_M, m_S * l_M, m_S * l_G],
        [m_S * l_M, J_M + m_S * l_M**2, m_S * l_M * l_G],
        [m_S * l_G, m_S * l_M * l_G, J_S + m_S * l_G**2],
    ]
    K = c_phi * np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, -1.0, 1.0]])
    f = [-gravity * (m_S + m_M), -gravity * m_S * l_M, -gravity * m_S * l_G]

    def contact(name: str, normal: tuple, tangent: tuple, gap0: float, e: float) -> Contact:
        def gap(q):
            return gap0 + normal[0] * q[0] + normal[1] * q[1] + normal[2] * q[2]

        def slip(t, q, v):
            return tangent[0] * v[0] + tangent[1] * v[1] + tangent[2] * v[2]

        return Contact(gap, slip=slip, e=e, mu=mu, name=name)

    contacts = [
        contact("beak", (0.0, 0.0, -h_S), (1.0, l_M, l_G - l_S), l_M + l_G - l_S - r_O, e_beak),
        contact("lower edge", (0.0, h_M, 0.0), (1.0, r_M, 0.0), r_M - r_O, e_sleeve),
        contact("upper edge", (0.0, -h_M, 0.0), (1.0, r_M, 0.0), r_M - r_O, e_sleeve),
    ]
    system = System(
        M=M, f=f, K=K, contacts=contacts, name="woodpecker", scene=sketch(r_O, r_M, h_M, l_M, l_G, h_S, l_S)
    )
    return Problem(system, (0.0, t_end), q0, v0, name="woodpecker")
