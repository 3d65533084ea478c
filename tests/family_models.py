"""Models of families for tests, each beside the same mechanics written out by hand."""

from __future__ import annotations

import numpy as np

import saltus as sl

LENGTH, MASS, GRAVITY = 0.1, 0.1, 9.81
INERTIA = MASS * LENGTH**2 / 12.0
RADIUS, DISC = 0.05, 0.5


def link_mass(q, p):
    """Planar body: p = (mass, inertia, gravity)."""
    return p[0], p[0], p[1]


def weight(t, q, v, p):
    return 0.0, -p[0] * p[2], 0.0


def point(q, x, y):
    """Place of a point of a planar body; q = (x, y, angle)."""
    c, s = np.cos(q[2]), np.sin(q[2])
    return q[0] + x * c - y * s, q[1] + x * s + y * c


def pin(t, q, p):
    """Two points of two bodies stay together: p = (x, y) of the first, (x, y) of the second."""
    a, b = point(q[0], p[0], p[1]), point(q[1], p[2], p[3])
    return a[0] - b[0], a[1] - b[1]


def chain(n, *, gravity=GRAVITY, contacts=(), forces=(), **options):
    """A chain of n links that hangs on the ground, stretched out along x; returns system, q0, v0."""
    links = sl.BodyFamily("link", 3, 3, link_mass, weight, p=[[MASS, INERTIA, gravity]] * n)
    half = 0.5 * LENGTH
    rows = [[0.0 if k == 0 else half, 0.0, -half, 0.0] for k in range(n)]
    pins = sl.JointFamily("pin", pin, [[k - 1, k] for k in range(n)], p=rows)
    system = sl.System(bodies=[links], joints=[pins], contacts=contacts, forces=forces, **options)
    q0 = np.ravel([[LENGTH * (k + 0.5), 0.0, 0.0] for k in range(n)])
    return system, q0, np.zeros(3 * n)


def chain_by_hand(n):
    """The same chain as lists."""

    def joint(k):
        def constraint(q):
            b = point(q[3 * k : 3 * k + 3], -0.5 * LENGTH, 0.0)
            a = (0.0, 0.0) if k == 0 else point(q[3 * k - 3 : 3 * k], 0.5 * LENGTH, 0.0)
            return a[0] - b[0], a[1] - b[1]

        return sl.Joint(constraint, name=f"pin.{k}" if n > 1 else "pin")

    return sl.System(
        M=np.tile([MASS, MASS, INERTIA], n),
        f=np.tile([0.0, -MASS * GRAVITY, 0.0], n),
        joints=[joint(k) for k in range(n)],
    )


def floor_gap(t, q, p):
    """Disc over the floor: p = (radius, height of the floor)."""
    return q[0][1] - p[0] - p[1]


def floor_slip(t, q, v, p):
    return v[0][0] + p[0] * v[0][2]


def pair_gap(t, q, p):
    """Two discs: p = (radius, radius)."""
    x, y = q[1][0] - q[0][0], q[1][1] - q[0][1]
    return np.sqrt(x * x + y * y) - p[0] - p[1]


def pair_slip(t, q, v, p):
    x, y = q[1][0] - q[0][0], q[1][1] - q[0][1]
    d = np.sqrt(x * x + y * y)
    u, w = v[1][0] - v[0][0], v[1][1] - v[0][1]
    return (x * w - y * u) / d - p[0] * v[0][2] - p[1] * v[1][2]


def discs(n, *, mu=0.3, e=0.5, radius=RADIUS, columns=3, **options):
    """Discs above a floor in rows of `columns`, each one a contact with the floor and with its neighbours."""
    inertia = 0.5 * DISC * RADIUS**2
    bodies = sl.BodyFamily("disc", 3, 3, link_mass, weight, p=[[DISC, inertia, GRAVITY]] * n)
    rng = np.random.default_rng(3)
    places = [[0.12 * (k % columns), 0.07 + 0.12 * (k // columns), 0.0] for k in range(n)]
    q0 = np.ravel(places) + 2e-3 * rng.standard_normal(3 * n)
    pairs = [[a, b] for a in range(n) for b in range(a + 1, n) if near(places[a], places[b])]
    contacts = [
        sl.ContactFamily("floor", floor_gap, np.arange(n), slip=floor_slip, p=[[radius, 0.0]] * n, e=e, mu=mu),
        sl.ContactFamily("pair", pair_gap, pairs, slip=pair_slip, p=[[radius, radius]] * len(pairs), e=e, mu=mu),
    ]
    return sl.System(bodies=[bodies], contacts=contacts, **options), q0, 0.3 * rng.standard_normal(3 * n)


def near(a, b):
    return abs(a[0] - b[0]) < 0.13 and abs(a[1] - b[1]) < 0.13


def discs_by_hand(system):
    """The same discs as lists, made by hand for every contact of the families."""
    n = len(system.all_bodies)
    floor, pair = system.contact_parts

    def of_floor(k):
        return sl.Contact(
            lambda q: q[3 * k + 1] - RADIUS,
            slip=lambda t, q, v: v[3 * k] + RADIUS * v[3 * k + 2],
            e=0.5, mu=0.3, name=floor.names[k],
        )  # fmt: skip

    def of_pair(k):
        a, b = (slice(3 * int(i), 3 * int(i) + 3) for i in pair.bodies[k])

        def gap(q):
            x, y = q[b][0] - q[a][0], q[b][1] - q[a][1]
            return np.sqrt(x * x + y * y) - RADIUS - RADIUS

        def slip(t, q, v):
            return pair_slip(t, (q[a], q[b]), (v[a], v[b]), (RADIUS, RADIUS))

        return sl.Contact(gap, slip=slip, e=0.5, mu=0.3, name=pair.names[k])

    inertia = 0.5 * DISC * RADIUS**2
    return sl.System(
        M=np.tile([DISC, DISC, inertia], n),
        f=np.tile([0.0, -DISC * GRAVITY, 0.0], n),
        contacts=[*(of_floor(k) for k in range(n)), *(of_pair(k) for k in range(len(pair.bodies)))],
    )
