"""Products of six velocities at a time: the inner loops of sweeps over rigid bodies, in vector instructions.

Kernels are compiled without a vectoriser; these are written for vectors of four and two numbers (jit/lanes.py), which
the compiler splits where the processor has shorter ones. The plain functions sum in the same order, and no product is
fused with a sum: every processor gives the same bits.
"""

from __future__ import annotations


def fused(a, b, c):
    """Return a b + c, both operations rounded."""
    return a * b + c


def dot_bodies(row, at, y, a, b):
    """Return row[at:at + 6] y[a:a + 6] + row[at + 6:at + 12] y[b:b + 6]."""
    lane = [row[at + j] * y[a + j] + row[at + 6 + j] * y[b + j] for j in range(6)]
    return (lane[4] + (lane[0] + lane[2])) + (lane[5] + (lane[1] + lane[3]))


def push_body(rows, at, d_0, d_1, d_2, y, a):
    """Add d_0 rows[at:at + 6] + d_1 rows[at + 12:at + 18] + d_2 rows[at + 24:at + 30] to y[a:a + 6]."""
    for j in range(6):
        y[a + j] = d_0 * rows[at + j] + (d_1 * rows[at + 12 + j] + (d_2 * rows[at + 24 + j] + y[a + j]))
    return 0


def foresee(y, at):
    """Tell the processor that y[at:at + 6] will be read and written soon."""
    return 0
