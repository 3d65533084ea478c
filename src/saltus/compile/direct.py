"""compile_text: a generated model module straight to machine code, without numba.

lower.py writes the source as LLVM IR, machine.py compiles it. The same text is compiled once as long as something uses
its code, and the last few texts stay, so that a loop over systems of one structure compiles nothing.
"""

from __future__ import annotations

import collections
import threading
import weakref
from collections.abc import Mapping

from saltus.compile.lower import lower
from saltus.compile.machine import Code, assemble, library_address
from saltus.compile.texts import BuiltText, built

KEPT = 32  # texts whose code stays although nobody uses it
_known: weakref.WeakValueDictionary[tuple, Code | BuiltText] = weakref.WeakValueDictionary()
_recent: collections.OrderedDict[tuple, Code | BuiltText] = collections.OrderedDict()
_making = threading.RLock()


def compile_text(text: str, outside: Mapping[str, int] | None = None) -> Code | BuiltText:
    """Compile a generated module and return the addresses of its units by name, valid while the result lives.

    Parameters
    ----------
    text
        Source as build/model.py writes it.
    outside
        Addresses of the units that it imports from other generated modules (opaque functions), by their names in it.
    """
    given = dict(outside or {})
    key = text, *sorted(given.items())
    with _making:
        made = _known.get(key)
        if made is None:
            made = _known[key] = _compiled(text, given)
        _recent[key] = made
        _recent.move_to_end(key)
        if len(_recent) > KEPT:
            _recent.popitem(last=False)
    return made


def _compiled(text: str, given: Mapping[str, int]) -> Code | BuiltText:
    made = None if given else built(text)
    if made is not None:
        return made
    lowered = lower(text)
    missing = sorted(set(lowered.outside) - set(given))
    if missing:
        raise ValueError(f"the module calls {', '.join(missing)}: give their addresses")
    known = {symbol: library_address(symbol.removeprefix("libm.")) for symbol in lowered.library}
    known |= {symbol: given[name] for name, symbol in lowered.outside.items()}
    return assemble(lowered.text, lowered.units, known)


def is_compiled(text: str) -> bool:
    """Tell whether the machine code of a module is there already, compiled with the package or in this process."""
    return (text,) in _known or built(text) is not None
