"""Secants: what a sweep over the stages tells about the Jacobians of the accelerations, at no evaluation.

Newton's method on the stages works with one Jacobian for the whole interval, and without the derivative of the mass
matrix. From one sweep to the next every stage sees how its acceleration answers a change of its state; the least
change of its own Jacobian that explains the answer (Broyden 1965, block by block as Schubert 1970) makes the iteration
superlinear.
"""

from __future__ import annotations

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import A, F, I

SEEN_CHANGE = 1e-12  # relative change of a state below which the answer is rounding


@unit(I(I, I, I, I, A, A, A, A, A, A))
def learn(first, end, nv, known, J_q, J_v, Q, V, a, before):
    """Correct the Jacobians of the stages first ... end - 1 and remember their states.

    known: whether `before` holds the states and accelerations of the sweep before
    in      Q, V: states; a: accelerations there
    in/out  J_q, J_v: Jacobians, nv * nv per stage; before: 3 * nv per stage
    """
    for k in range(first, end):
        at, block = 3 * nv * k, nv * nv * k
        size_q, size_v, moved_q, moved_v, large_q, large_v = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(nv * nv if known == 1 else 0):
            size_q += J_q[block + i] * J_q[block + i]
            size_v += J_v[block + i] * J_v[block + i]
        for i in range(nv):
            # what is there: the change; what was there: the state, for the next sweep
            q, v = Q[k * nv + i], V[k * nv + i]
            before[at + i], before[at + nv + i] = q - before[at + i], v - before[at + nv + i]
            moved_q += before[at + i] * before[at + i]
            moved_v += before[at + nv + i] * before[at + nv + i]
            large_q += q * q
            large_v += v * v
        # both parts of the Jacobian are as uncertain as they are large
        moved = size_q * moved_q + size_v * moved_v
        if known == 1 and moved > SEEN_CHANGE * SEEN_CHANGE * (size_q * large_q + size_v * large_v):
            for i in range(nv):
                left = a[k * nv + i] - before[at + 2 * nv + i]
                for j in range(nv):
                    left -= J_q[block + i * nv + j] * before[at + j] + J_v[block + i * nv + j] * before[at + nv + j]
                for j in range(nv):
                    J_q[block + i * nv + j] += size_q * left * before[at + j] / moved
                    J_v[block + i * nv + j] += size_v * left * before[at + nv + j] / moved
        for i in range(nv):
            before[at + i], before[at + nv + i] = Q[k * nv + i], V[k * nv + i]
            before[at + 2 * nv + i] = a[k * nv + i]
    return 0


@unit(I(I, A, I, I, A, F, A, A))
def carry(nv, nodes, first, end, places, stretch, J, J_new):
    """Interpolate the Jacobians of the stages first ... end - 1 at other places of the same motion.

    nodes: places of the stages; places: those of the new ones, in units of `stretch`
    """
    for k in range(places.shape[0]):
        x, j = places[k] * stretch, first
        while j < end - 2 and nodes[j + 1] < x:
            j += 1
        share = 0.0
        if j + 1 < end:
            share = (x - nodes[j]) / (nodes[j + 1] - nodes[j])
            share = smaller(larger(share, 0.0), 1.0)
        for i in range(nv * nv):
            below, above = J[j * nv * nv + i], J[(j + 1 if share > 0.0 else j) * nv * nv + i]
            J_new[k * nv * nv + i] = (1.0 - share) * below + share * above
    return 0
