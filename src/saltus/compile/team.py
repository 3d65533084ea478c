"""A team of threads inside one kernel: barriers on shared integers.

Every member calls the same kernel with its number. Members meet at barriers; one that waits too long lets others run,
so that more members than cores are slow, not stuck. Raising the flag STOP releases everybody.
"""

from __future__ import annotations

import ctypes
import os

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from saltus.compile.seam import unit
from saltus.compile.types import I, J

STOP, ARRIVED = 8, 16  # places in the shared integers, on cache lines of their own
SHARED = 32
SPINS = 3000  # looks for the others before the core is offered to others, some 50 us


def _yield_address() -> int:
    if os.name == "nt":
        windll = ctypes.windll  # type: ignore[attr-defined]  # only there
        return ctypes.cast(windll.kernel32.SwitchToThread, ctypes.c_void_p).value or 0
    return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0


binding.add_symbol("saltus_give_way", _yield_address())


# ---- the interpreted meaning: a team of one


def add_shared(shared, place, value):
    """Add to a shared integer and return what it was before; all writes before it are seen by who reads it."""
    before = shared[place]
    shared[place] += value
    return before


def read_shared(shared, place):
    """Return a shared integer; what was written before it was set is visible afterwards."""
    return shared[place]


def give_way(patiently):
    """Let another thread run: a hint to the core, or the rest of the time slice."""
    return 0


@type_callable(add_shared)
def _type_add(context):
    return lambda shared, place, value: types.int64


@type_callable(read_shared)
def _type_read(context):
    return lambda shared, place: types.int64


@type_callable(give_way)
def _type_give_way(context):
    return lambda patiently: types.int64


def _address(context, builder, thin, value, place):
    return builder.gep(cgutils.create_struct_proxy(thin)(context, builder, value=value).data, [place])


@lower_builtin(add_shared, types.Any, types.Integer, types.Integer)
def _lower_add(context, builder, sig, args):
    return builder.atomic_rmw("add", _address(context, builder, sig.args[0], *args[:2]), args[2], "seq_cst")


@lower_builtin(read_shared, types.Any, types.Integer)
def _lower_read(context, builder, sig, args):
    return builder.load_atomic(_address(context, builder, sig.args[0], *args), "acquire", 8)


@lower_builtin(give_way, types.Integer)
def _lower_give_way(context, builder, sig, args):
    int32 = ir.IntType(32)
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(int32, ()), "saltus_give_way")
    with builder.if_then(builder.icmp_signed("!=", args[0], args[0].type(0))):
        builder.call(function, ())
    if binding.get_default_triple().startswith("x86"):
        pause = ir.FunctionType(ir.VoidType(), ())
        builder.call(cgutils.get_or_insert_function(builder.module, pause, "llvm.x86.sse2.pause"), ())
    return ir.IntType(64)(0)


@unit(I(J, I))
def meet(shared, members):
    """Wait until all members are here; returns 0, or 1 where the team was stopped."""
    if members == 1:
        return 0
    arrived, spins = add_shared(shared, ARRIVED, 1), 0
    full = arrived - arrived % members + members
    while read_shared(shared, ARRIVED) < full:
        if read_shared(shared, STOP) != 0:
            return 1
        spins += 1
        give_way(1 if spins > SPINS else 0)
    return 0
