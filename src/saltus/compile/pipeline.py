"""The passes that kernels need, which are fewer than numba's own.

A kernel has no closures, no array expressions, no literal unrolling and no reference counts; looking for them, and
optimising twice to remove what is not there, takes a third of the compile time.
"""

from __future__ import annotations

import contextlib

from numba.core import config, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target

LEFT_OUT = (
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.DumpParforDiagnostics,
)


class LeanLibrary(JITCodeLibrary):
    """Machine code of a kernel: optimised once, as a whole."""

    def _optimize_functions(self, module):
        pass

    def _optimize_final_module(self):
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


@contextlib.contextmanager
def lean_code():
    """Compile at level 2 without vectorised loops: most loops of a kernel run over one to six entries."""
    codegen = cpu_target.target_context.codegen()
    kept = codegen._library_class, config.LOOP_VECTORIZE, config.OPT
    codegen._library_class, config.LOOP_VECTORIZE, config.OPT = LeanLibrary, 0, type(config.OPT)(2)
    try:
        yield
    finally:
        codegen._library_class, config.LOOP_VECTORIZE, config.OPT = kept


class LeanCompiler(CompilerBase):
    """Compile a kernel."""

    def define_pipelines(self):
        full = DefaultPassBuilder.define_nopython_pipeline(self.state)
        lean = PassManager("saltus")
        lean.passes = [(step, why) for step, why in full.passes if step not in LEFT_OUT]
        lean.finalize()
        return [lean]
