"""saltus compile: bring the compiled kernels up to date, so that first runs start at once."""

from __future__ import annotations

import time

from saltus.compile import library


def compile_command() -> int:
    """Compile the kernels for this processor, where the installation has none or its sources were changed.

    Models need no compilation ahead of time.
    """
    began = time.perf_counter()
    if library.find() is not None:
        print("the compiled kernels fit this processor and these sources: nothing to do")
        return 0
    if not library.build_here():
        return 1
    print(f"kernels compiled in {time.perf_counter() - began:.1f} s")
    return 0
