"""Forces that are not unique: of all that hold the same contacts, those that the laws admit.

On redundant contacts (a table on four legs, a box that sticks on two corners) the equations of motion leave the forces
free along some directions: r = x + N^T y. Nothing in rigid mechanics says which y is right; wrong is only one whose
forces pull, or leave their friction cones. The split taken here is

    minimise  1/2 |r|^2 / load^2  -  SPLIT_TUNED.barrier sum log(slack)

over all y: the shortest forces, as equal stiff springs under all feet would give, kept off their bounds by a
logarithmic barrier. It depends on the state alone, neither on the past nor on the order of the contacts, and it is
smooth in time as long as some split is admitted strictly. Where none is, the forces are those that miss least, and the
margin, by which all normal forces could be lowered, is negative: there, and only there, contacts let go or slip.
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

from saltus.compile.seam import handle, head, larger, smaller, unit
from saltus.compile.types import MODEL, SPLIT, A, F, I, J, Split
from saltus.lasting.index_set import INDEX
from saltus.lasting.workspace import SPLITTING
from saltus.memory.vectors import clear


class _SplitTuned(NamedTuple):
    """Tuned numbers of this file."""

    # of the forces before reactions: how far laws are relaxed, so that rounding does not break them
    relaxed: float = 2e-11
    barrier: float = 1e-3  # of the square of the load: what keeps shortest forces off their bounds
    involved: float = 1e-8  # component of a scaled unit direction: forces with less are unique
    # of the squares of the forces, beside the first pull: forces with the largest margin may be endless
    short: float = 1e-6
    steeper: float = 12.0  # factor by which the pull towards larger margins grows from one centre to the next
    sharpest: float = 1e-13  # of the load: how sharply the largest margin is found
    centred: float = 1e-9  # square of Newton's decrement, over the barrier, at which one more step ends a search
    most_steps: int = 60  # of Newton's method towards one centre
    # of the same, straight to the split: where they do not do, barriers are lowered one after the other
    quick_steps: int = 15
    # first barrier then, and from one to the next: each centre is near the one before
    widest: float = 1.0
    lower: float = 0.1
    halvings: int = 60  # of one of its steps
    enough: float = 1e-4  # of the decrease that Newton's decrement promises


SPLIT_TUNED = _SplitTuned()


@unit(F(SPLIT, I, A), small=True)
def slack(split, cone, x):
    """Return by how much a normal force may fall before its law is broken [N]; negative where it is broken."""
    first, rows = split.cones[3 * cone], split.cones[3 * cone + 1]
    if rows == 1:
        return x[first]
    square = 0.0
    for i in range(first + 1, first + rows):
        square += x[i] * x[i]
    return x[first] - sqrt(square) / split.mu[cone]


@unit(F(SPLIT, A))
def least_slack(split, x):
    """Return the smallest slack of all cones [N]."""
    least = 1e300
    for cone in range(split.mu.shape[0]):
        least = smaller(least, slack(split, cone, x))
    return least


@unit(F(SPLIT, I, F, F, F, A, A))
def height(split, d, share, pull, barrier, x, y):
    """Return what a search makes small: share of the squares, pull of the last direction, barriers; x = x(y)."""
    total = -pull * y[d - 1]
    for i in range(x.shape[0]):
        total += 0.5 * share * split.weight[i] * x[i] * x[i]
    for cone in range(split.mu.shape[0]):
        first, rows = split.cones[3 * cone], split.cones[3 * cone + 1]
        inside = x[first]
        if rows > 1:
            square = 0.0
            for i in range(first + 1, first + rows):
                square += x[i] * x[i]
            along = sqrt(square) / split.mu[cone]
            inside = (x[first] - along) * (x[first] + along)
        total -= barrier * log(inside)
    return total


@unit(I(SPLIT, I, F, F, F))
def slope(split, d, share, pull, barrier):
    """Write gradient and Hessian of `height` at the forces x."""
    n, x, N, g, H = split.x.shape[0], split.x, split.N, split.gradient, split.hessian
    for j in range(d):
        g[j] = -pull if j == d - 1 else 0.0
        for k in range(d):
            H[j * d + k] = 0.0
    for i in range(n if share > 0.0 else 0):
        for j in range(d):
            g[j] += share * split.weight[i] * x[i] * N[j * n + i]
            for k in range(d):
                H[j * d + k] += share * split.weight[i] * N[j * n + i] * N[k * n + i]
    for cone in range(split.mu.shape[0]):
        first, rows = split.cones[3 * cone], split.cones[3 * cone + 1]
        if rows == 1:
            for j in range(d):
                g[j] -= barrier * N[j * n + first] / x[first]
                for k in range(d):
                    H[j * d + k] += barrier * N[j * n + first] * N[k * n + first] / (x[first] * x[first])
            continue
        weight = 1.0 / (split.mu[cone] * split.mu[cone])
        square = 0.0
        for i in range(first + 1, first + rows):
            square += x[i] * x[i]
        along = sqrt(weight * square)
        inside = (x[first] - along) * (x[first] + along)
        for j in range(d):
            turn = x[first] * N[j * n + first]
            for i in range(first + 1, first + rows):
                turn -= weight * x[i] * N[j * n + i]
            split.step[j] = 2.0 * turn / inside
        for j in range(d):
            g[j] -= barrier * split.step[j]
            for k in range(d):
                bend = N[j * n + first] * N[k * n + first]
                for i in range(first + 1, first + rows):
                    bend -= weight * N[j * n + i] * N[k * n + i]
                H[j * d + k] += barrier * (split.step[j] * split.step[k] - 2.0 * bend / inside)
    return 0


@unit(F(SPLIT, I))
def descend(split, d):
    """Write Newton's step - H^-1 g by Cholesky's factors; return the square of its decrement."""
    g, H, step = split.gradient, split.hessian, split.step
    for j in range(d):
        for k in range(j + 1):
            total = H[j * d + k]
            for i in range(k):
                total -= H[j * d + i] * H[k * d + i]
            if j == k:
                # directions that change nothing have no curvature: they are left alone
                H[j * d + j] = sqrt(total) if total > 1e-14 * H[j * d + j] else 1e150
            else:
                H[j * d + k] = total / H[k * d + k]
    for j in range(d):
        step[j] = -g[j]
        for i in range(j):
            step[j] -= H[j * d + i] * step[i]
        step[j] /= H[j * d + j]
    for j in range(d - 1, -1, -1):
        for i in range(j + 1, d):
            step[j] -= H[i * d + j] * step[i]
        step[j] /= H[j * d + j]
    decrement = 0.0
    for j in range(d):
        decrement -= g[j] * step[j]
    return decrement


@unit(I(SPLIT, I, F, F, F, I, I))
def centre(split, d, share, pull, barrier, until, most):
    """Make `height` small by Newton's method from forces that all laws admit; 1 at its minimum, 0 after `most` steps.

    With `until` = 1 the search ends with 2 where all laws admit the forces without the last direction.
    """
    n, x, trial = split.x.shape[0], split.x, split.trial
    last = False
    for _ in range(most):
        slope(split, d, share, pull, barrier)
        decrement = descend(split, d)
        if not decrement > 1e-28 * barrier:
            return 1
        here, size, moved = height(split, d, share, pull, barrier, x, split.y), 1.0, False
        for _halving in range(SPLIT_TUNED.halvings):
            for i in range(n):
                trial[i] = x[i]
                for j in range(d):
                    trial[i] += size * split.step[j] * split.N[j * n + i]
            if least_slack(split, trial) > 0.0:
                for j in range(d):
                    split.y[j] += size * split.step[j]
                there = height(split, d, share, pull, barrier, trial, split.y)
                if (
                    there <= here - SPLIT_TUNED.enough * size * decrement
                    or last
                    or decrement <= SPLIT_TUNED.centred * barrier
                ):
                    moved = True
                    break
                for j in range(d):
                    split.y[j] -= size * split.step[j]
            size *= 0.5
        if not moved:
            return 1
        for i in range(n):
            x[i] = trial[i]
        if until == 1 and least_slack(split, x) > split.y[d - 1] * split.N[(d - 1) * n + split.cones[0]]:
            return 2
        if last:
            return 1
        last = decrement <= SPLIT_TUNED.centred * barrier
    return 0


@unit(F(SPLIT, I, F))
def largest_margin(split, d, load):
    """Move the forces to where all laws admit them if that can be done; return the margin [N], negative if not.

    The last direction lowers all normal forces by the load; it is followed as far as the laws let it go. In a rough
    slot that is without end, as long as the forces grow: short ones are preferred by a little.
    """
    n, least, parameter = split.x.shape[0], least_slack(split, split.x), 0.0
    for cone in range(split.mu.shape[0]):
        parameter += 1.0 if split.cones[3 * cone + 1] == 1 else 2.0
    start = least / load - 1.0
    split.y[d - 1] = start
    for i in range(n):
        split.x[i] += start * split.N[(d - 1) * n + i]
    pull = 1.0
    while True:
        found = centre(split, d, SPLIT_TUNED.short, pull, 1.0, 1, SPLIT_TUNED.most_steps)
        margin, squares = split.y[d - 1], 0.0
        for i in range(n):
            squares += split.weight[i] * split.x[i] * split.x[i]
        room = (parameter + SPLIT_TUNED.short * squares) / pull
        sure = margin + room < 0.0 and room < 1e-3 * abs(margin)
        if found == 2 or sure or room < SPLIT_TUNED.sharpest:
            break
        pull *= SPLIT_TUNED.steeper
    for i in range(n):
        split.x[i] -= split.y[d - 1] * split.N[(d - 1) * n + i]
    return larger(split.y[d - 1] * load, least_slack(split, split.x))


@unit(I(SPLIT, I))
def shortest(split, d):
    """Move forces that all laws admit to the split; 1 where it is reached.

    From most starts Newton's method leads there in some steps. From others its first one ends beside a cone, and it
    would creep along that for more steps than anyone waits: then the way leads through the middle of what is admitted.
    """
    found, barrier = centre(split, d, 1.0, 0.0, SPLIT_TUNED.barrier, 0, SPLIT_TUNED.quick_steps), SPLIT_TUNED.widest
    while found == 0 and barrier > 0.5 * SPLIT_TUNED.barrier:
        reached = centre(split, d, 1.0, 0.0, barrier, 0, SPLIT_TUNED.most_steps)
        barrier *= SPLIT_TUNED.lower
        found = reached if barrier <= 0.5 * SPLIT_TUNED.barrier else 0
    return found


@unit(I(MODEL, J, I, I, A, A, A, J, SPLITTING.kind))
def list_cones(model, index, n, missing, N, scale, x, involved, work):
    """Write which contacts have forces that are not unique (involved), with their cones; return how many.

    out     work: cones, mu; sizes: length of their forces [N], largest scale
    """
    layout, cones, at, count, load, widest = model.layout, work.cones, 0, 0, 0.0, 0.0
    for c in range(layout.nc):
        involved[c] = 0
        if index[c] != INDEX.slip and index[c] != INDEX.stick:
            continue
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        rows = 1 if index[c] == INDEX.slip else end - row
        for i in range(at, at + rows):
            for j in range(missing):
                if abs(N[j * n + i]) > SPLIT_TUNED.involved:
                    involved[c] = 1
        if involved[c] == 1:
            cones[3 * count], cones[3 * count + 1], cones[3 * count + 2] = at, rows, c
            work.mu[count] = model.mu[c]
            count += 1
            for i in range(at, at + rows):
                load += x[i] * x[i]
                widest = larger(widest, scale[i])
        at += rows
    work.sizes.load, work.sizes.widest = sqrt(load), widest
    return count


@unit(F(MODEL, J, I, I, A, A, A, F, J, SPLITTING.kind))
def admit(model, index, n, missing, N, scale, x, relaxed, involved, work):
    """Choose among the forces x + N^T y of the held rows; return the margin [N], 1e300 where no law has a say.

    in      index; n held rows, contacts first (one row where a contact slips, all where it sticks), then joints;
            N: `missing` directions of n scaled forces each, orthonormal; scale: from scaled forces to forces;
            relaxed: normal force [N] that a contact may pull with
    in/out  x: forces of the held rows
    out     involved: 1 per contact whose forces are not unique
    """
    cones, mu, weight, d = work.cones, work.mu, head(work.weight, n), missing + 1
    count = list_cones(model, index, n, missing, N, scale, x, involved, work)
    load, widest = work.sizes.load, work.sizes.widest
    if count == 0:
        return 1e300
    if not load > 0.0:
        return 0.0
    for i in range(n):
        # joints have units of their own: their scaled forces count like those of the contacts
        weight[i] = 1.0 / (load * load)
        if i >= n - model.layout.nj:
            weight[i] *= (widest / scale[i]) ** 2
    forces, directions, y = head(work.x, n), head(work.N, d * n), head(work.y, d)
    for i in range(n):
        forces[i] = x[i]
        directions[missing * n + i] = 0.0
        for j in range(missing):
            directions[j * n + i] = load * N[j * n + i] * scale[i] / widest
    for cone in range(count):
        directions[missing * n + cones[3 * cone]] = -load
        forces[cones[3 * cone]] += relaxed
    clear(y)
    split = handle(
        Split(
            head(cones, 3 * count), head(mu, count), forces, weight, directions, y, head(work.gradient, d),
            head(work.hessian, d * d), head(work.step, d), head(work.trial, n),
        )
    )  # fmt: skip
    margin = least_slack(split, forces)
    if not margin > 0.0:
        margin = largest_margin(split, d, load)
        if margin > 0.0 and not least_slack(split, forces) > 0.0:
            margin = 0.0  # by rounding
    if margin > 0.0:
        y[missing] = 0.0
        shortest(split, missing)
        margin = least_slack(split, forces)
    for cone in range(count):
        forces[cones[3 * cone]] -= relaxed
    for i in range(n):
        x[i] = forces[i]
    return margin
