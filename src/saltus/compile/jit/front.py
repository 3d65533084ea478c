"""The front end: one unit -> LLVM bitcode that defines its symbol and calls those of others."""

from __future__ import annotations

import dis

from llvmlite import binding
from numba.core import cgutils, codegen, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from saltus.compile.jit import columns, lanes, team  # noqa: F401  their lowering registers itself
from saltus.compile.jit.passes import LeanCompiler
from saltus.compile.jit.translate import numba_signature
from saltus.compile.unit import Unit

RAISES = "!numba_exception_output"  # the mark of numba on every store of an exception


class RaisingKernel(Exception):
    """A kernel with a raise or assert: its message would be lost."""


class _Text(codegen.JITCodeLibrary):
    """Keeps what numba emits for a unit; nothing is optimised, linked or made executable."""

    def __init__(self, owner, name):
        super().__init__(owner, name)
        self.text = ""

    def add_ir_module(self, module):
        self.text = cgutils.normalize_ir_text(str(module))

    def add_linking_library(self, library):
        self._linking_libraries.append(library)


def prepare() -> None:
    """Read the tables of numba, which takes a second."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def bitcode(unit: Unit, version: int) -> bytes:
    """Return the bitcode of one version of a unit."""
    if any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(unit.py_func)):
        raise RaisingKernel(f"{unit!r} raises an exception, which machine code cannot: return a status instead")
    prepare()
    signature = numba_signature(unit.unit_signatures[version])
    flags = compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    library = _Text(cpu_target.target_context.codegen(), unit.symbol(version))
    with global_compiler_lock:
        made = compiler.compile_extra(
            cpu_target.typing_context, cpu_target.target_context, unit.py_func, signature.args, signature.return_type,
            flags, {}, library=library, pipeline_class=LeanCompiler,
        )  # fmt: skip
        module = binding.parse_assembly(_silent(library.text))
        for text in _helpers(library):
            helper = binding.parse_assembly(_silent(text))
            for function in helper.functions:
                if not function.is_declaration:
                    function.linkage = "linkonce_odr"
            module.link_in(helper)
    own = made.fndesc.llvm_func_name
    for function in module.functions:
        if not function.is_declaration and function.name != own:
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    defined = module.get_function(own)
    defined.name, defined.linkage = unit.symbol(version), "external"
    module.verify()
    return module.as_bitcode()


def _silent(text: str) -> str:
    """Leave out what would be raised, pickled with file names: a status says so, which callers hand on (calls.py)."""
    return "\n".join(line for line in text.split("\n") if RAISES not in line)


def _helpers(library) -> list[str]:
    """Return the texts of the functions that numba compiled for a unit (int ** int, max of three), each once."""
    found, todo, seen = [], list(library._linking_libraries), set()
    while todo:
        one = todo.pop()
        if id(one) not in seen:
            seen.add(id(one))
            found.append(str(one._final_module))
            todo.extend(one._linking_libraries)
    return found
