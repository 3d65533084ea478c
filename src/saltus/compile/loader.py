"""Object files in this process: llvmlite places them in memory and finds what they need."""

from __future__ import annotations

import ctypes
import functools
import os

from llvmlite import binding


@functools.cache
def _prepare() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.add_symbol("saltus_give_way", _yield_address())


def _yield_address() -> int:
    """Return the function that offers the rest of a time slice to others (compile/team.py)."""
    if os.name == "nt":
        windll = ctypes.windll  # type: ignore[attr-defined]  # only there
        return ctypes.cast(windll.kernel32.SwitchToThread, ctypes.c_void_p).value or 0
    return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0


class Loaded:
    """Objects that were placed in memory together; they stay there while this lives."""

    def __init__(self, objects: list[bytes], known: dict[str, int] | None = None):
        """Place objects; `known` are addresses of symbols that they may need."""
        _prepare()
        for symbol, address in (known or {}).items():
            binding.add_symbol(symbol, address)
        machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(jit=True)
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        for content in objects:
            self._engine.add_object_file(binding.ObjectFileRef.from_data(content))
        self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """Return the address of a symbol, 0 where there is none."""
        return self._engine.get_function_address(symbol)


def processor() -> tuple[str, frozenset[str]]:
    """Return the architecture of this process and what its processor can do."""
    triple = binding.get_process_triple()
    features = binding.get_host_cpu_features()
    return triple.split("-")[0], frozenset(name for name, has in features.items() if has)
