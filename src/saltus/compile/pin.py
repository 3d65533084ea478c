"""Pinning: records that Python hands over once, for every march that uses them."""

from __future__ import annotations

from numba import config

from saltus.compile.handle import Pinned, write
from saltus.compile.seam import ready, unit
from saltus.compile.types import MODEL, MODEL_RECORD, A, I, Model, Scheme, depth_of, scheme_handle, scheme_record


@unit(I(MODEL_RECORD, A), entry=True)
def place_model(record, memory):
    return write(record, memory)


@unit(*(I(scheme_record(depth), A) for depth in range(4)), entry=True)
def place_scheme(record, memory):
    return write(record, memory)


def pin(record: Model | Scheme) -> Pinned | Model | Scheme:
    """Return a record as an entry takes it by its handle; its units must be ready. Interpreted, the record itself."""
    if config.DISABLE_JIT:
        return record
    if isinstance(record, Model):
        return Pinned(MODEL, record, ready(place_model))
    depth = depth_of(record)
    return Pinned(scheme_handle(depth), record, ready(place_scheme, place_scheme.unit_signatures[depth]))
