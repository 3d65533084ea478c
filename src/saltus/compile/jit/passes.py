"""The passes that kernels need, which are fewer than numba's own.

A kernel has no closures, no array expressions, no literal unrolling and no reference counts; looking for them takes a
third of the time.
"""

from __future__ import annotations

from numba.core import typed_passes, untyped_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager

LEFT_OUT = (
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.InlineInlinables,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.DumpParforDiagnostics,
)


class LeanCompiler(CompilerBase):
    """Compile a kernel."""

    def define_pipelines(self):
        full = DefaultPassBuilder.define_nopython_pipeline(self.state)
        lean = PassManager("saltus")
        lean.passes = [(step, why) for step, why in full.passes if step not in LEFT_OUT]
        lean.finalize()
        return [lean]
