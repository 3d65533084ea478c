"""LLVM IR -> machine code in this process, by llvmlite alone."""

from __future__ import annotations

import ctypes
import functools
import platform
import threading
from collections.abc import Iterator, Mapping

from llvmlite import binding as llvm

SPEED_LEVEL = 1  # of the optimisation: a model is straight-line code, in which higher levels find nothing
_compiling = threading.RLock()


class Code(Mapping[str, int]):
    """Addresses of compiled functions by name; they are valid as long as this object lives."""

    def __init__(self, engine: llvm.ExecutionEngine, symbols: Mapping[str, str]):
        self._engine = engine
        self._addresses = {name: engine.get_function_address(symbol) for name, symbol in symbols.items()}

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._addresses)

    def __len__(self) -> int:
        return len(self._addresses)


def assemble(text: str, symbols: Mapping[str, str], known: Mapping[str, int]) -> Code:
    """Compile IR.

    Parameters
    ----------
    text
        The IR of a module.
    symbols
        Functions to give back: name -> symbol.
    known
        Addresses of symbols that the module does not define.
    """
    with _compiling:
        machine = _machine(_target())
        module = _optimised(text, machine)
        engine = llvm.create_mcjit_compiler(module, machine)
        for function in module.functions:
            if function.is_declaration and function.name in known:  # what nobody needed is gone
                engine.add_global_mapping(function, known[function.name])
        engine.finalize_object()
        return Code(engine, symbols)


def object_code(text: str, machine: llvm.TargetMachine) -> bytes:
    """Return IR as a relocatable object for a processor, made as `assemble` makes code for the one at hand."""
    return machine.emit_object(_optimised(text, machine))


def _optimised(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=SPEED_LEVEL)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


@functools.cache
def _target() -> llvm.Target:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


@functools.cache
def _host() -> tuple[str, str]:
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _machine(target: llvm.Target) -> llvm.TargetMachine:
    cpu, features = _host()
    relocations = "static" if platform.machine() in ("x86_64", "AMD64") else "default"
    return target.create_target_machine(
        cpu=cpu, features=features, opt=2, reloc=relocations, codemodel="jitdefault", jit=True
    )


@functools.cache
def library_address(name: str) -> int:
    """Return the address of a function of the C library: the one that Python's math calls."""
    for library in (None, "libm.so.6", "ucrtbase"):
        try:
            function = getattr(ctypes.CDLL(library), name)
        except (OSError, TypeError, AttributeError):
            continue
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    raise RuntimeError(f"the C library of this system has no {name}")
