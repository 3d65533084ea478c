"""Pinning: records that Python hands over once, for every march that uses them."""

from __future__ import annotations

from saltus.compile import code
from saltus.compile.types import MODEL, Model, Scheme, depth_of, scheme_handle
from saltus.compile.unit import Pinned


def pin(record: Model | Scheme) -> Pinned | Model | Scheme:
    """Return a record as an entry takes it by its handle; interpreted, the record itself."""
    if code.interpreting():
        return record
    return Pinned(MODEL if isinstance(record, Model) else scheme_handle(depth_of(record)), record)
