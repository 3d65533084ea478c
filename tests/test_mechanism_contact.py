"""Contacts on mechanisms: joints leave fewer directions than a contact has rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import saltus as sl

LENGTH, MASS, GRAVITY, MU = 0.7, 0.3, 9.81, 0.2
STOP = 0.25  # height of the pendulum's stop over its lowest point [m]


def stopped_pendulum(turn: np.ndarray, e: float) -> tuple[sl.System, np.ndarray]:
    """A mass on a circle, held there by two joints in a turned frame, over a rough stop that slopes in space.

    Its one degree of freedom crosses the stop at an angle, so that the 3x3 block of the contact has rank one; another
    stop stands where it never comes.
    """
    x_axis, y_axis, z_axis = turn
    normal = (0.3 * x_axis + 0.2 * y_axis + z_axis) / np.sqrt(0.09 + 0.04 + 1.0)
    first = np.cross(normal, x_axis)
    first /= np.linalg.norm(first)
    second = np.cross(normal, first)
    angle = np.arccos(1.0 - STOP / LENGTH)
    rest = LENGTH * (np.sin(angle) * x_axis - np.cos(angle) * z_axis)

    def along(vector, q):
        return vector[0] * q[0] + vector[1] * q[1] + vector[2] * q[2]

    def slip(t, q, v):
        return [along(first, v), along(second, v)]

    system = sl.System(
        M=[MASS] * 3,
        f=(-MASS * GRAVITY * z_axis).tolist(),
        joints=[
            sl.Joint(lambda q: along(y_axis, q), name="plane"),
            sl.Joint(lambda q: q[0] ** 2 + q[1] ** 2 + q[2] ** 2 - LENGTH**2, name="rod"),
        ],
        contacts=[
            sl.Contact(lambda q: along(normal, q) - along(normal, rest), e=e, mu=MU, slip=slip, name="stop"),
            sl.Contact(lambda q: along(x_axis, q) + 2.0 * LENGTH, mu=MU, slip=slip, name="far"),
        ],
    )
    return system, LENGTH * (np.sin(1.4) * x_axis - np.cos(1.4) * z_axis)


SCHEMES = {
    "MoreauJean": (sl.MoreauJean(projection=True), {"h": 1e-3}),
    "HpTDG": (sl.HpTDG(), {"tol": 1e-6}),
    "EventDriven": (sl.EventDriven(), {"tol": 1e-6}),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", SCHEMES)
def test_a_contact_on_a_mechanism_with_one_degree_of_freedom_stops_it(name, seed):
    turn = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    scheme, options = SCHEMES[name]
    system, q0 = stopped_pendulum(turn, e=0.0 if "h" in options else 0.3)  # fixed steps hop on while e > 0
    sol = sl.solve(system, (0.0, 2.0), q0, np.zeros(3), scheme=scheme, progress=False, **options)
    height = sol.q[-1] @ turn[2] + LENGTH
    assert abs(height - STOP) <= 1e-6
    assert np.abs(sol.v[-1]).max() <= 1e-6
    assert sol.contact_residual.max() <= 1e-10
    # forces at rest: the weight is carried by joints and a contact force inside of its cone
    r = sol.force_at(1.9)[:3]
    assert r[0] > 0.0
    assert np.hypot(r[1], r[2]) <= MU * r[0] * (1.0 + 1e-9)
