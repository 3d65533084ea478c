"""What talks to numba: the only folder that imports it. Nothing here is needed to run what was built before.

numba is used as a front end: Python source -> typed -> LLVM IR. Its dispatchers, its disk cache, its wrappers for
Python and its run time are not used (but for users' functions that cannot be traced: opaque_source.py, whole.py and
store.py). numba has no public name for that, so these private ones are in use; pyproject.toml says for which versions.

| name | where | what would replace it |
|---|---|---|
| numba.core.compiler.compile_extra, Flags | front.py | a front end of our own: 30 kinds of syntax nodes, no inference |
|                                          |          | beyond declared signatures |
| numba.core.codegen.JITCodeLibrary        | front.py | nothing: it only keeps the text that numba emits |
| cpu_target.typing_context, .target_context, codegen()._library_class | front.py | the front end above |
| numba.core.compiler.CompilerBase, DefaultPassBuilder, the passes in passes.py | passes.py | numba's own pipeline, a |
|                                          |          | third slower |
| numba.core.typing.templates, numba.core.cgutils | arrays, handles, lanes, team, calls | part of the front end above |
| context.call_conv (int32 f(ret*, exc*, ...)) | calls.py | the convention of kinds.py, written out |
| context.get_value_type, cast, get_dummy_value, make_array, make_tuple | arrays, calls | part of the front end above |
"""
