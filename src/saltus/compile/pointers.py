"""Function pointers that Python hands to compiled code, looked up once.

numba asks for the address of every function of a record whenever an entry is called, by way of its signature; a march
takes twenty of them, which costs more than a short run. A unit never moves: its addresses are kept beside it.
"""

from __future__ import annotations

from numba.experimental import function_type

_wrapper_address, _jit_address = function_type._get_wrapper_address, function_type._get_jit_address


def _kept(find, name: str):
    def address(function, signature):
        known = getattr(function, name, None)
        if known is None:
            if not hasattr(function, "unit_signatures"):
                return find(function, signature)  # not one of ours
            known = {}
            setattr(function, name, known)
        found = known.get(id(signature))
        if found is None:
            # the signature is kept too: while it lives, nothing else has its id
            found = known[id(signature)] = find(function, signature), signature
        return found[0]

    return address


function_type._get_wrapper_address = _kept(_wrapper_address, "wrapper_addresses")
function_type._get_jit_address = _kept(_jit_address, "jit_addresses")
