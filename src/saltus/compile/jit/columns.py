"""The loops of compile/columns.py as vector instructions, split where the processor has shorter ones.

Rows are made in blocks of four; the last block is moved back so that it ends with the last row, and makes some rows a
second time. Fewer rows than four are made one by one.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from saltus.compile.columns import (
    combine_columns,
    combine_scaled,
    lagrange_columns,
    legendre_columns,
    matrix_entries,
    subtract_multiple,
)

NUMBER, FOUR = ir.DoubleType(), ir.VectorType(ir.DoubleType(), 4)
ANY, WHOLE, REAL = types.Any, types.Integer, types.Float


@type_callable(combine_columns)
def _type_combine(context):
    return lambda columns, rows, first, values, stride, out, step: types.int64


@type_callable(combine_scaled)
def _type_scaled(context):
    return lambda columns, rows, scale, first, values, stride, out, step: types.int64


@type_callable(lagrange_columns)
def _type_lagrange(context):
    return lambda c, factors, places, columns: types.int64


@type_callable(legendre_columns)
def _type_legendre(context):
    return lambda places, terms, columns: types.int64


@type_callable(matrix_entries)
def _type_entries(context):
    return lambda velocity, product, h, j_v, j_q, out, step: types.int64


@type_callable(subtract_multiple)
def _type_subtract(context):
    return lambda x, factor, y: types.int64


def _vector(context, builder, sig, args, k):
    """Return address and length of a vector among the arguments."""
    struct = cgutils.create_struct_proxy(sig.args[k])(context, builder, value=args[k])
    return struct.data, struct.n0


def _read(builder, data, at, kind):
    loaded = builder.load(builder.bitcast(builder.gep(data, [at]), kind.as_pointer()))
    loaded.align = 8
    return loaded


def _write(builder, value, data, at):
    place = builder.bitcast(builder.gep(data, [at]), value.type.as_pointer())
    builder.store(value, place).align = 8


def _spread(builder, value, kind):
    """Return a number in all places of a vector, or the number itself."""
    if kind is NUMBER:
        return value
    first = builder.insert_element(ir.Constant(FOUR, ir.Undefined), value, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 4), [ir.IntType(32)(0)] * 4)
    return builder.shuffle_vector(first, ir.Constant(FOUR, ir.Undefined), zeros)


def _write_apart(builder, value, data, place, step):
    """Write neighbouring rows, one after the other or with a step between them."""
    if not isinstance(value.type, ir.VectorType):
        _write(builder, value, data, builder.mul(place, step))
        return
    with builder.if_else(builder.icmp_signed("==", step, step.type(1))) as (together, apart):
        with together:
            _write(builder, value, data, place)
        with apart:
            for lane in range(4):
                at = builder.mul(builder.add(place, step.type(lane)), step)
                _write(builder, builder.extract_element(value, ir.IntType(32)(lane)), data, at)


def _loop(builder, begin, end, by):
    """Loop over begin, begin + by, ... < end."""
    return cgutils.for_range_slice(builder, begin, end, by)


def _in_blocks(builder, rows, body, most: int):
    """Call body(places, kind) for blocks of rows, up to `most` of them (1, 2 or 4) side by side."""
    word = rows.type

    def blocks(begin, end, count):
        with _loop(builder, begin, end, word(4 * count)) as (k, _):
            last, places = builder.sub(rows, word(4)), []
            for block in range(count):
                place = builder.add(k, word(4 * block))
                places.append(builder.select(builder.icmp_signed("<", place, last), place, last))
            body(places, FOUR)

    with builder.if_else(builder.icmp_signed("<", rows, word(4))) as (few, many):
        with few, _loop(builder, word(0), rows, word(1)) as (k, _):
            body([k], NUMBER)
        with many:
            if most == 4:
                # sums of sixteen rows hide what each of them waits for; what is left is made by eights
                whole = builder.and_(builder.add(rows, word(7)), word(-16))
                blocks(word(0), whole, 4)
                blocks(whole, rows, 2)
            else:
                blocks(word(0), rows, most)


def _combine(context, builder, sig, args, scaled: bool):
    columns, end = _vector(context, builder, sig, args, 0)
    rows, scale, (first, _, stride, _, step) = args[1], args[2], args[3:] if scaled else args[2:]
    at_values = 4 if scaled else 3
    values, _ = _vector(context, builder, sig, args, at_values)
    out, _ = _vector(context, builder, sig, args, at_values + 2)
    word = rows.type
    at = cgutils.alloca_once(builder, word)

    def body(places, kind):
        totals = [cgutils.alloca_once(builder, kind) for _ in places]
        for total in totals:
            builder.store(_spread(builder, first, kind), total)
        builder.store(word(0), at)
        with _loop(builder, word(0), end, rows) as (j, _):
            value = _spread(builder, builder.load(builder.gep(values, [builder.load(at)])), kind)
            builder.store(builder.add(builder.load(at), stride), at)
            for total, place in zip(totals, places, strict=True):
                entry = _read(builder, columns, builder.add(j, place), kind)
                if scaled:
                    entry = builder.fmul(_spread(builder, scale, kind), entry)
                builder.store(builder.fadd(builder.load(total), builder.fmul(entry, value)), total)
        for total, place in zip(totals, places, strict=True):
            _write_apart(builder, builder.load(total), out, place, step)

    _in_blocks(builder, rows, body, 4)
    return word(0)


@lower_builtin(combine_columns, ANY, WHOLE, REAL, ANY, WHOLE, ANY, WHOLE)
def _lower_combine(context, builder, sig, args):
    return _combine(context, builder, sig, args, scaled=False)


@lower_builtin(combine_scaled, ANY, WHOLE, REAL, REAL, ANY, WHOLE, ANY, WHOLE)
def _lower_scaled(context, builder, sig, args):
    return _combine(context, builder, sig, args, scaled=True)


@lower_builtin(lagrange_columns, ANY, ANY, ANY, ANY)
def _lower_lagrange(context, builder, sig, args):
    c, n = _vector(context, builder, sig, args, 0)
    factors, _ = _vector(context, builder, sig, args, 1)
    places, rows = _vector(context, builder, sig, args, 2)
    columns, _ = _vector(context, builder, sig, args, 3)
    word = rows.type

    def body(blocks, kind):
        (block,) = blocks  # one at a time: what two of them share would be multiplied twice
        place = _read(builder, places, block, kind)
        for downwards in (False, True):
            product = cgutils.alloca_once(builder, kind)
            builder.store(_spread(builder, NUMBER(1.0), kind), product)
            with _loop(builder, word(0), n, word(1)) as (k, _):
                j = builder.sub(builder.sub(n, word(1)), k) if downwards else k
                at = builder.add(builder.mul(j, rows), block)
                known = builder.load(product)
                factor = (
                    _read(builder, columns, at, kind)
                    if downwards
                    else _spread(builder, builder.load(builder.gep(factors, [j])), kind)
                )
                _write(builder, builder.fmul(factor, known), columns, at)
                node = _spread(builder, builder.load(builder.gep(c, [j])), kind)
                builder.store(builder.fmul(known, builder.fsub(place, node)), product)

    _in_blocks(builder, rows, body, 1)
    return word(0)


@lower_builtin(legendre_columns, ANY, WHOLE, ANY)
def _lower_legendre(context, builder, sig, args):
    places, rows = _vector(context, builder, sig, args, 0)
    terms, word = args[1], rows.type
    columns, _ = _vector(context, builder, sig, args, 2)

    def body(blocks, kind):
        at_blocks = [_read(builder, places, block, kind) for block in blocks]
        pairs = [[cgutils.alloca_once(builder, kind) for _ in range(2)] for _ in blocks]
        for block, place, (before, last) in zip(blocks, at_blocks, pairs, strict=True):
            one = _spread(builder, NUMBER(1.0), kind)
            _write(builder, one, columns, block)
            builder.store(one, before)
            builder.store(place, last)
            with builder.if_then(builder.icmp_signed(">", terms, word(1))):
                _write(builder, place, columns, builder.add(rows, block))
        with _loop(builder, word(1), builder.sub(terms, word(1)), word(1)) as (j, _):
            number = builder.sitofp(j, NUMBER)
            twice = builder.fadd(builder.fmul(NUMBER(2.0), number), NUMBER(1.0))
            below = _spread(builder, builder.fadd(number, NUMBER(1.0)), kind)
            for block, place, (before, last) in zip(blocks, at_blocks, pairs, strict=True):
                known = builder.load(last)
                up = builder.fmul(builder.fmul(_spread(builder, twice, kind), place), known)
                down = builder.fmul(_spread(builder, number, kind), builder.load(before))
                made = builder.fdiv(builder.fsub(up, down), below)
                builder.store(known, before)
                builder.store(made, last)
                at = builder.add(builder.mul(builder.add(j, word(1)), rows), block)
                _write(builder, made, columns, at)

    _in_blocks(builder, rows, body, 4)
    return word(0)


@lower_builtin(matrix_entries, ANY, ANY, REAL, REAL, REAL, ANY, WHOLE)
def _lower_entries(context, builder, sig, args):
    velocity, rows = _vector(context, builder, sig, args, 0)
    product, _ = _vector(context, builder, sig, args, 1)
    out, _ = _vector(context, builder, sig, args, 5)
    _, _, h, j_v, j_q, _, step = args

    def body(places, kind):
        (place,) = places
        first = builder.fmul(_read(builder, velocity, place, kind), _spread(builder, j_v, kind))
        second = builder.fmul(_spread(builder, h, kind), _read(builder, product, place, kind))
        total = builder.fadd(first, builder.fmul(second, _spread(builder, j_q, kind)))
        total = builder.fmul(_spread(builder, builder.fneg(h), kind), total)
        total = builder.fadd(total, _spread(builder, NUMBER(0.0), kind))
        _write_apart(builder, total, out, place, step)

    _in_blocks(builder, rows, body, 1)
    return rows.type(0)


@lower_builtin(subtract_multiple, ANY, REAL, ANY)
def _lower_subtract(context, builder, sig, args):
    x, _ = _vector(context, builder, sig, args, 0)
    y, size = _vector(context, builder, sig, args, 2)
    word = size.type
    whole = builder.and_(size, word(-4))
    for begin, end, kind in ((word(0), whole, FOUR), (whole, size, NUMBER)):  # what is done twice would be wrong here
        with _loop(builder, begin, end, word(4 if kind is FOUR else 1)) as (k, _):
            term = builder.fmul(_spread(builder, args[1], kind), _read(builder, x, k, kind))
            _write(builder, builder.fsub(_read(builder, y, k, kind), term), y, k)
    return word(0)
