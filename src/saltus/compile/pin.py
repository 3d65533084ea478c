"""Pinning: records that Python hands over once, for every march that uses them."""

from __future__ import annotations

import numpy as np

from saltus.compile import code
from saltus.compile.types import MODEL, Model, Scheme, depth_of, scheme_handle
from saltus.compile.unit import Pinned


def pin(record: Model | Scheme) -> Pinned | Model | Scheme:
    """Return a record as an entry takes it by its handle; interpreted, the record itself."""
    if code.interpreting():
        return record
    return Pinned(MODEL if isinstance(record, Model) else scheme_handle(depth_of(record)), record)


def with_arrays(pinned: Pinned | Model | Scheme, **arrays: np.ndarray) -> Pinned | Model | Scheme:
    """Return what `pin` made with other arrays; units are not asked for their addresses once more."""
    return pinned.replaced(**arrays) if isinstance(pinned, Pinned) else pinned._replace(**arrays)
