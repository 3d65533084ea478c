"""The back end: bitcode of units -> one relocatable object, for a processor."""

from __future__ import annotations

import functools

from llvmlite import binding

OPT = 2  # loops are neither vectorised nor unrolled: most of them run over one to six entries


@functools.cache
def machine(cpu: str, features: str = "", triple: str | None = None) -> binding.TargetMachine:
    """Return the code generator for a processor; position independent, so that an object lands anywhere."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(triple or binding.get_process_triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=OPT, reloc="pic", codemodel="default")


def native() -> tuple[str, str]:
    """Return name and features of the processor at hand."""
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()


def object_code(own: list[bytes], inlined: list[tuple[str, bytes]], small: list[str], generator) -> bytes:
    """Return the object that defines the units in `own`.

    Parameters
    ----------
    own
        Bitcode of the units that the object defines.
    inlined
        Symbol and bitcode of small units of elsewhere; they go into their callers.
    small
        Symbols of all small units.
    """
    module = binding.parse_bitcode(own[0])
    for code in own[1:]:
        module.link_in(binding.parse_bitcode(code))
    for _, code in inlined:
        module.link_in(binding.parse_bitcode(code))
    foreign, inline = {symbol for symbol, _ in inlined}, set(small)
    for function in module.functions:
        if not function.is_declaration and function.name in inline:
            function.add_function_attribute("alwaysinline")
        if function.name in foreign:
            function.linkage = "internal"
    module.triple, module.data_layout = generator.triple, str(generator.target_data)
    options = binding.create_pipeline_tuning_options(speed_level=OPT)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    passes = binding.create_pass_builder(generator, options)
    passes.getModulePassManager().run(module, passes)
    return generator.emit_object(module)
