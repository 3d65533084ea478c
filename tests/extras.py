"""Tests that need an extra of saltus, skipped where it is not installed."""

from __future__ import annotations

import importlib.util

import pytest

needs_jit = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="numba is not installed: saltus[jit] compiles users' own kernels"
)
