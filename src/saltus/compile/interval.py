"""Interval arithmetic on tapes: bounds of expressions over a box of their variables.

Bounds hold for the values in exact arithmetic and for those that compiled code computes. Where an expression has no
value in a part of the box (the root of a negative number), they hold for the rest of it. A division by an interval
with zero inside and the like give infinite bounds, never NaN.

Literature: R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, SIAM 2009,
doi:10.1137/1.9780898717716.
"""

from __future__ import annotations

from math import (  # isort: skip  one line each would be half a page
    acos, acosh, asin, asinh, atan, atan2, atanh, ceil, cos, cosh, erf, erfc, exp, expm1, floor, hypot, inf, log,
    log1p, log2, log10, pi, sin, sinh, sqrt, tan, tanh,
)  # fmt: skip

import numpy as np

from saltus.compile.seam import interpreted, larger, ready, smaller, unit
from saltus.compile.tape import OP, TAPE_HEAD, WIDTH, Tape
from saltus.compile.types import A, F, I, J
from saltus.compile.views import vec

ULP = 2.0**-52  # the distance of 1.0 to the next number
LEAST_POSITIVE = 5e-324  # the least positive number
OF_ROUNDING = ULP  # relative width that covers one rounded operation
OF_FUNCTIONS = 4.0 * ULP  # the same for the elementary functions, whose last digits vary between libraries
GREATEST = 1.7976931348623157e308
MAX_EXPONENT = 709.782712893384  # exp of more overflows
MAX_PHASE = 1e15  # beyond it the phase of a sine is lost in rounding
ALL_WHOLE = 2.0**52  # from here on every number is whole
HALF_PI, TWO_PI = 0.5 * pi, 2.0 * pi


def bounds(tape: Tape, par, low, high, *, compiled: bool = False) -> np.ndarray:
    """Return the bounds (low, high) of every expression of the tape over the box low <= variables <= high.

    Tapes with slopes give the mean-value form where nothing jumps, which is sharper on small boxes.
    """
    low, high = (np.array(x, dtype=float).reshape(-1) for x in (low, high))
    par = np.array(par, dtype=float) if len(par) else np.zeros(1)
    out = np.full(2 * int(tape.code[TAPE_HEAD.values]), np.nan)
    run = ready(enclose) if compiled else interpreted(enclose)
    run(tape.code, tape.numbers, par, low, high, np.zeros(tape.work), out)
    return out.reshape(-1, 2)


@unit(I(J, A, A, A, A, A, A), entry=True)
def enclose(code, numbers, par, low, high, work, out):
    """Write the bounds of all expressions into out, in pairs; return 0 if none of them can jump inside of the box.

    code, numbers
        The tape.
    par
        The parameters of the trace.
    low, high
        The box, one entry per variable of the tape.
    work
        As many floats as the tape says; nothing in it is kept.
    """
    nodes, values = code[TAPE_HEAD.nodes], code[TAPE_HEAD.values]
    results, n = code[TAPE_HEAD.results], code[TAPE_HEAD.variables]
    pairs = vec(work, 0, 2 * nodes)
    found = vec(work, 2 * nodes, 2 * results)
    middle = vec(work, 2 * (nodes + results), n)
    rest = 2 * (nodes + results) + n
    scratch = vec(work, rest, work.shape[0] - rest)
    slopes, listed = results - values, TAPE_HEAD.size + results
    has_slopes = slopes > 0
    run_nodes = nodes if has_slopes else code[TAPE_HEAD.value_nodes]
    jumps = run_tape(code, run_nodes, numbers, par, low, high, pairs, scratch)
    for k in range(results):
        node = code[TAPE_HEAD.size + k]
        found[2 * k], found[2 * k + 1] = pairs[2 * node], pairs[2 * node + 1]
    for k in range(2 * values):
        out[k] = found[k]
    if has_slopes and jumps == 0:
        for i in range(n):
            middle[i] = 0.5 * low[i] + 0.5 * high[i]
        run_tape(code, code[TAPE_HEAD.value_nodes], numbers, par, middle, middle, pairs, scratch)
        slope_at = 0
        for k in range(values):
            node = code[TAPE_HEAD.size + k]
            a, b = pairs[2 * node], pairs[2 * node + 1]
            while slope_at < slopes and code[listed + 2 * slope_at] == k:
                i, at = code[listed + 2 * slope_at + 1], 2 * (values + slope_at)
                slope_at += 1
                if found[at] != 0.0 or found[at + 1] != 0.0:
                    reach = up(larger(high[i] - middle[i], middle[i] - low[i]), OF_ROUNDING)
                    slope = larger(abs(found[at]), abs(found[at + 1]))
                    move = up(product(slope, reach), OF_ROUNDING)
                    a, b = down(a - move, OF_ROUNDING), up(b + move, OF_ROUNDING)
            # NaN, from an infinite bound less another one, compares as false and changes nothing
            if a > out[2 * k]:
                out[2 * k] = a
            if b < out[2 * k + 1]:
                out[2 * k + 1] = b
    return jumps


# ---- rounding


@unit(F(F, F), small=True)
def down(x, relative):
    """Return a number that is surely not above the exact one."""
    return x - (abs(x) * relative + LEAST_POSITIVE)


@unit(F(F, F), small=True)
def up(x, relative):
    """Return a number that is surely not below the exact one."""
    return x + (abs(x) * relative + LEAST_POSITIVE)


@unit(F(F, F), small=True)
def product(a, b):
    """Return a b, zero if one of them is zero: as a bound, infinity stands for numbers however large."""
    return 0.0 if a == 0.0 or b == 0.0 else a * b


@unit(F(F, F), small=True)
def quotient(a, b):
    """Return a / b of a bound b that is not zero."""
    if abs(b) == inf:
        return 0.0
    return a / b


@unit(I(A, I, F, F), small=True)
def keep(pairs, k, a, b):
    """Store the bounds of a node; a bound that is not a number is no bound."""
    pairs[2 * k] = a if a == a else -inf
    pairs[2 * k + 1] = b if b == b else inf
    return 0


@unit(I(A, I, F, F, F), small=True)
def keep_wider(pairs, k, a, b, relative):
    """Store bounds that were rounded."""
    return keep(pairs, k, down(a, relative), up(b, relative))


# ---- the tape


@unit(I(J, I, A, A, A, A, A, A))
def run_tape(code, count, numbers, par, low, high, pairs, scratch):
    """Compute the bounds of the first `count` nodes; return how many of the values' nodes may jump inside."""
    jumps, first_instruction = 0, TAPE_HEAD.size + 3 * code[TAPE_HEAD.results] - 2 * code[TAPE_HEAD.values]
    for k in range(count):
        at = first_instruction + WIDTH * k
        op, first, second = code[at], code[at + 1], code[at + 2]
        jumped = 0
        if op == OP.variable:
            keep(pairs, k, low[first], high[first])
        elif op == OP.par:
            keep(pairs, k, par[first], par[first])
        elif op == OP.number:
            keep(pairs, k, numbers[first], numbers[first])
        else:
            a, b = pairs[2 * first], pairs[2 * first + 1]
            if op >= OP.sin:
                jumped = enclose_function(op, a, b, pairs, k)
            elif op == OP.piecewise or op == OP.table:
                jumped = enclose_cells(code, at, par, a, b, pairs, k, scratch)
                if op == OP.table:
                    jumped = 0
            elif op == OP.power:
                enclose_power(a, b, second, pairs, k)
            elif op == OP.neg:
                keep(pairs, k, -b, -a)
            elif op == OP.abs:
                keep(pairs, k, least_distance(a, b), larger(-a, b))
            elif op == OP.not_:
                keep(pairs, k, 1.0 - b, 1.0 - a)
            elif OP.sign <= op <= OP.trunc:
                c, d = step_of(op, a), step_of(op, b)
                keep(pairs, k, c, d)
                jumped = 0 if c == d else 1
            elif op == OP.where:
                jumped = enclose_choice(a, b, pairs, k, second, code[at + 3])
            else:
                c, d = pairs[2 * second], pairs[2 * second + 1]
                jumped = enclose_two(op, a, b, c, d, pairs, k)
        if k < code[TAPE_HEAD.value_nodes]:
            jumps += jumped
    return jumps


@unit(F(F, F), small=True)
def least_distance(a, b):
    """Return the least |x| of a <= x <= b."""
    return larger(larger(a, -b), 0.0)


@unit(F(I, F), small=True)
def step_of(op, x):
    """Return a step function of one number."""
    if op == OP.sign:
        return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)
    if not abs(x) < ALL_WHOLE:
        return float(x)
    if op == OP.floor:
        return float(floor(x))
    if op == OP.ceil:
        return float(ceil(x))
    return float(floor(x)) if x > 0.0 else float(ceil(x))


@unit(I(F, F, A, I, I, I))
def enclose_choice(a, b, pairs, k, yes, no):
    """One branch where the condition is decided, else whatever holds both; 1 if the choice is open."""
    if a == 1.0:
        return keep(pairs, k, pairs[2 * yes], pairs[2 * yes + 1])
    if b == 0.0:
        return keep(pairs, k, pairs[2 * no], pairs[2 * no + 1])
    keep(pairs, k, smaller(pairs[2 * yes], pairs[2 * no]), larger(pairs[2 * yes + 1], pairs[2 * no + 1]))
    return 1


@unit(I(F, F, I, A, I))
def enclose_power(a, b, n, pairs, k):
    """x^n with a whole n > 1 over [a, b]."""
    if n % 2 == 1:
        return keep_wider(pairs, k, whole_power(a, n), whole_power(b, n), n * OF_ROUNDING)
    least, most = whole_power(least_distance(a, b), n), whole_power(larger(-a, b), n)
    return keep(pairs, k, larger(down(least, n * OF_ROUNDING), 0.0), up(most, n * OF_ROUNDING))


@unit(F(F, I), small=True)
def whole_power(x, n):
    """Return x^n by products."""
    result = 1.0
    for _ in range(n):
        result *= x
    return result


# ---- two arguments


@unit(I(I, F, F, F, F, A, I))
def enclose_two(op, a, b, c, d, pairs, k):
    """An operation on [a, b] and [c, d]; returns 1 if it may jump."""
    if op == OP.add:
        return keep_wider(pairs, k, a + c, b + d, OF_ROUNDING)
    if op == OP.sub:
        return keep_wider(pairs, k, a - d, b - c, OF_ROUNDING)
    if op == OP.mul:
        p, r, s, w = product(a, c), product(a, d), product(b, c), product(b, d)
        least, most = smaller(smaller(p, r), smaller(s, w)), larger(larger(p, r), larger(s, w))
        return keep_wider(pairs, k, least, most, OF_ROUNDING)
    if op == OP.div:
        return enclose_quotient(a, b, c, d, pairs, k)
    if op == OP.min:
        return keep(pairs, k, smaller(a, c), smaller(b, d))
    if op == OP.max:
        return keep(pairs, k, larger(a, c), larger(b, d))
    if op == OP.lt:
        return keep(pairs, k, 1.0 if b < c else 0.0, 0.0 if a >= d else 1.0)
    if op == OP.le:
        return keep(pairs, k, 1.0 if b <= c else 0.0, 0.0 if a > d else 1.0)
    if op == OP.eq:
        return keep(pairs, k, 1.0 if a == b and c == d and a == c else 0.0, 0.0 if b < c or d < a else 1.0)
    if op == OP.ne:
        return keep(pairs, k, 1.0 if b < c or d < a else 0.0, 0.0 if a == b and c == d and a == c else 1.0)
    if op == OP.and_:
        return keep(pairs, k, smaller(a, c), smaller(b, d))
    if op == OP.or_:
        return keep(pairs, k, larger(a, c), larger(b, d))
    return enclose_rare(op, a, b, c, d, pairs, k)


@unit(I(F, F, F, F, A, I))
def enclose_quotient(a, b, c, d, pairs, k):
    """[a, b] / [c, d]; a zero at an end of the divisor leaves one bound, a zero inside none."""
    if c > 0.0 or d < 0.0:
        p, r, s, w = quotient(a, c), quotient(a, d), quotient(b, c), quotient(b, d)
        least, most = smaller(smaller(p, r), smaller(s, w)), larger(larger(p, r), larger(s, w))
        return keep_wider(pairs, k, least, most, OF_ROUNDING)
    least, most = -inf, inf
    if c == 0.0 and d > 0.0 and a >= 0.0:
        least = down(quotient(a, d), OF_ROUNDING)
    elif c == 0.0 and d > 0.0 and b <= 0.0:
        most = up(quotient(b, d), OF_ROUNDING)
    elif d == 0.0 and c < 0.0 and a >= 0.0:
        most = up(quotient(a, c), OF_ROUNDING)
    elif d == 0.0 and c < 0.0 and b <= 0.0:
        least = down(quotient(b, c), OF_ROUNDING)
    keep(pairs, k, least, most)
    return 1


@unit(I(I, F, F, F, F, A, I))
def enclose_rare(op, a, b, c, d, pairs, k):
    """Remainders, angles and powers; returns 1 if it may jump."""
    if op == OP.mod:
        return enclose_remainder(a, b, c, d, pairs, k)
    if op == OP.copysign:
        least, most = least_distance(a, b), larger(-a, b)
        if c > 0.0:
            return keep(pairs, k, least, most)
        if d < 0.0:
            return keep(pairs, k, -most, -least)
        keep(pairs, k, -most, most)
        return 1
    if op == OP.hypot:
        least = hypot(least_distance(a, b), least_distance(c, d))
        most = hypot(larger(-a, b), larger(-c, d))
        return keep(pairs, k, larger(down(least, OF_FUNCTIONS), 0.0), up(most, OF_FUNCTIONS))
    if op == OP.atan2:
        if c <= 0.0 and a <= 0.0 <= b:  # the angle jumps behind the origin
            keep(pairs, k, down(-pi, OF_FUNCTIONS), up(pi, OF_FUNCTIONS))
            return 1
        p, r, s, w = atan2(a, c), atan2(a, d), atan2(b, c), atan2(b, d)
        least, most = smaller(smaller(p, r), smaller(s, w)), larger(larger(p, r), larger(s, w))
        return keep_wider(pairs, k, least, most, OF_FUNCTIONS)
    # a real power of what is not negative; of negative numbers only whole powers are there
    if b < 0.0 or (a < 0.0 and not (c == d and abs(c) < MAX_PHASE and c != floor(c))):
        keep(pairs, k, -inf, inf)
        return 1
    a = larger(a, 0.0)
    p, r, s, w = real_power(a, c), real_power(a, d), real_power(b, c), real_power(b, d)
    least, most = smaller(smaller(p, r), smaller(s, w)), larger(larger(p, r), larger(s, w))
    if least == inf:
        least = GREATEST
    # the relative error of exp(y log x) grows with the exponent; a good pow is far better
    keep(pairs, k, larger(down(least, OF_FUNCTIONS), 0.0), up(most, OF_FUNCTIONS))
    return 0 if a > 0.0 or c > 0.0 else 1


@unit(F(F, F), small=True)
def real_power(x, y):
    """Return x^y for x >= 0."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x == 0.0 or x == inf or abs(y) == inf:
        grows = (x > 1.0) == (y > 0.0)
        return inf if grows else 0.0
    exponent = y * log(x)
    if exponent > MAX_EXPONENT - 1.0:
        return inf
    return x**y


@unit(I(F, F, F, F, A, I))
def enclose_remainder(a, b, c, d, pairs, k):
    """[a, b] % [c, d] with the sign of the divisor."""
    if c == d and c != 0.0 and abs(c) < inf and larger(-a, b) < MAX_PHASE * abs(c):
        p, r = a / c, b / c
        least, most = floor(down(smaller(p, r), OF_ROUNDING)), floor(up(larger(p, r), OF_ROUNDING))
        if least == most:
            size = OF_FUNCTIONS * (larger(-a, b) + abs(c))
            p, r = a - least * c - size, b - least * c + size
            if c > 0.0:
                return keep(pairs, k, larger(p, 0.0), smaller(r, c))
            return keep(pairs, k, larger(p, c), smaller(r, 0.0))
    keep(pairs, k, smaller(c, 0.0), larger(d, 0.0))
    return 1


# ---- functions of one argument


@unit(I(I, F, F, A, I))
def enclose_function(op, a, b, pairs, k):
    """An elementary function over [a, b]; returns 1 if it may jump."""
    if op == OP.sin or op == OP.cos:
        return enclose_wave(a, b, HALF_PI if op == OP.sin else 0.0, op == OP.sin, pairs, k)
    if op == OP.tan:
        size = larger(-a, b)
        if size < MAX_PHASE:
            slack = OF_FUNCTIONS * (1.0 + size)
            if floor((a - slack) / pi + 0.5) == floor((b + slack) / pi + 0.5):
                return keep_wider(pairs, k, tan(a), tan(b), OF_FUNCTIONS)
        keep(pairs, k, -inf, inf)
        return 1
    if op == OP.cosh:
        least, most = value_of(op, least_distance(a, b)), value_of(op, larger(-a, b))
        return keep(pairs, k, larger(down(finite(least), OF_FUNCTIONS), 1.0), up(most, OF_FUNCTIONS))
    # the others are monotone in their domain
    first, last = -inf, inf
    if op == OP.asin or op == OP.acos or op == OP.atanh:
        first, last = -1.0, 1.0
    elif op == OP.acosh:
        first = 1.0
    elif op == OP.log or op == OP.log10 or op == OP.log2 or op == OP.sqrt:
        first = 0.0
    elif op == OP.log1p:
        first = -1.0
    if b < first or a > last:  # no value anywhere
        keep(pairs, k, -inf, inf)
        return 1
    p, r = value_of(op, larger(a, first)), value_of(op, smaller(b, last))
    if op == OP.acos or op == OP.erfc:
        p, r = r, p
    if op == OP.sqrt or op == OP.exp or op == OP.erfc or op == OP.acos:
        return keep(pairs, k, larger(down(finite(p), OF_FUNCTIONS), 0.0), up(r, OF_FUNCTIONS))
    return keep_wider(pairs, k, finite(p), larger(r, -GREATEST), OF_FUNCTIONS)


@unit(F(F), small=True)
def finite(x):
    """Return a lower bound that is a number: what is beyond all numbers is above the greatest."""
    return smaller(x, GREATEST)


@unit(I(F, F, F, I, A, I))
def enclose_wave(a, b, top, is_sine, pairs, k):
    """A sine or a cosine; `top` is a phase of its maximum."""
    size = larger(-a, b)
    if not (size < MAX_PHASE and b - a < TWO_PI):
        return keep(pairs, k, -1.0, 1.0)
    slack = OF_FUNCTIONS * (1.0 + size)
    p, r = sin(a) if is_sine else cos(a), sin(b) if is_sine else cos(b)
    least, most = down(smaller(p, r), OF_FUNCTIONS), up(larger(p, r), OF_FUNCTIONS)
    if floor((b + slack - top) / TWO_PI) > floor((a - slack - top) / TWO_PI):
        most = 1.0
    if floor((b + slack - top - pi) / TWO_PI) > floor((a - slack - top - pi) / TWO_PI):
        least = -1.0
    return keep(pairs, k, larger(least, -1.0), smaller(most, 1.0))


@unit(F(I, F))
def value_of(op, x):
    """Return a function of one number in its domain, infinity where it is too large."""
    if op == OP.exp or op == OP.expm1 or op == OP.sinh or op == OP.cosh:
        if x > MAX_EXPONENT:
            return inf
        if x < -MAX_EXPONENT and op == OP.sinh:
            return -inf
    if op == OP.exp:
        return exp(x)
    if op == OP.expm1:
        return expm1(x)
    if op == OP.sinh:
        return sinh(x)
    if op == OP.cosh:
        return cosh(x)
    if op == OP.sqrt:
        return sqrt(x)
    if op == OP.atanh:
        return inf if x >= 1.0 else (-inf if x <= -1.0 else atanh(x))
    if op == OP.log1p:
        return -inf if x <= -1.0 else log1p(x)
    if op == OP.log or op == OP.log10 or op == OP.log2:
        if x <= 0.0:
            return -inf
        return log(x) if op == OP.log else (log10(x) if op == OP.log10 else log2(x))
    if op == OP.asin:
        return asin(x)
    if op == OP.acos:
        return acos(x)
    if op == OP.atan:
        return atan(x)
    if op == OP.tanh:
        return tanh(x)
    if op == OP.asinh:
        return asinh(x)
    if op == OP.acosh:
        return acosh(x)
    return erf(x) if op == OP.erf else erfc(x)


# ---- tables


@unit(I(J, I, A, F, F, A, I, A))
def enclose_cells(code, at, par, a, b, pairs, k, scratch):
    """A piecewise polynomial: what holds all cells that [a, b] touches; returns 1 if these are several."""
    offset, n, order, derivative = code[at + 2], code[at + 3], code[at + 4], code[at + 5]
    first, last = cell_of(par, offset, n, a), cell_of(par, offset, n, b)
    pairs[2 * k], pairs[2 * k + 1] = inf, -inf
    for cell in range(first, last + 1):
        start = par[offset + cell]
        left = a - start if cell == first else 0.0
        right = b - start if cell == last else par[offset + cell + 1] - start
        coefficients = vec(par, offset + n + 1 + cell * (order + 1), order + 1)
        join_polynomial(coefficients, order, derivative, left, right, pairs, k, scratch)
    return 0 if first == last else 1


@unit(I(A, I, I, F), small=True)
def cell_of(par, offset, n, x):
    """Return the cell of a table that holds x; the first and the last one reach to infinity."""
    low, high = 0, n - 1
    while low < high:
        middle = (low + high + 1) // 2
        if x >= par[offset + middle]:
            low = middle
        else:
            high = middle - 1
    return low


@unit(I(A, I, I, F, F, A, I, A))
def join_polynomial(coefficients, order, derivative, left, right, pairs, k, scratch):
    """Widen the bounds of a node by a polynomial (or a derivative of it) over [left, right].

    The polynomial lies between the least and the greatest of its Bernstein coefficients on the interval.
    """
    degree = order - derivative
    size, reach, power = 0.0, larger(abs(left), abs(right)), 1.0
    for i in range(degree + 1):
        factor = 1.0
        for j in range(derivative):
            factor *= i + derivative - j
        scratch[i] = factor * coefficients[degree - i]
        size += abs(scratch[i]) * power
        power *= reach
    if degree > 0 and not size < inf:
        pairs[2 * k], pairs[2 * k + 1] = -inf, inf
        return 0
    for i in range(degree):  # around `left` instead of the knot
        for j in range(degree - 1, i - 1, -1):
            scratch[j] += left * scratch[j + 1]
    power = 1.0
    for i in range(degree + 1):  # in units of the width
        scratch[i] *= power
        power *= right - left
    slack = 4.0 * (degree + 1) * OF_ROUNDING * size + LEAST_POSITIVE
    for i in range(degree + 1):
        value, ratio = 0.0, 1.0
        for j in range(i + 1):
            value += ratio * scratch[j]
            ratio *= (i - j) / (degree - j) if j < degree else 0.0
        pairs[2 * k], pairs[2 * k + 1] = smaller(pairs[2 * k], value - slack), larger(pairs[2 * k + 1], value + slack)
    return 0
