"""A user's own units, compiled in this process: they call those of the package where these already are."""

from __future__ import annotations

from saltus.compile import digest
from saltus.compile.jit import back, front
from saltus.compile.loader import Loaded
from saltus.compile.unit import Unit

_loaded: list[Loaded] = []  # units never move


def make(unit: Unit, version: int) -> None:
    """Compile a unit and the units outside of the package that it calls; sets their addresses."""
    if unit.allocates:
        from saltus.compile.jit.whole import address

        unit.addresses[version] = address(unit, version)
        return
    todo, own, known = [unit], [], {}
    while todo:
        one = todo.pop()
        if one in own:
            continue
        own.append(one)
        for callee in digest.callees(one):
            if callee.own or callee.allocates or callee.addresses:
                for k in range(len(callee.unit_signatures)):
                    known[callee.symbol(k)] = callee.address(k)
            else:
                todo.append(callee)
    versions = [(one, k) for one in own for k in range(len(one.unit_signatures))]
    small = [one.symbol(k) for one, k in versions if one.inlined]
    content = back.object_code([front.bitcode(*pair) for pair in versions], [], small, back.machine(*back.native()))
    loaded = Loaded([content], known)
    _loaded.append(loaded)
    for one, k in versions:
        one.addresses[k] = loaded.address(one.symbol(k))
