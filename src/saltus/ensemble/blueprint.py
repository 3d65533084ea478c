"""An engine as bytes, for other processes: generated text, layout and numbers; no pickle, no module of the user.

What arrives compiles with llvmlite alone, in some hundredths of a second, or is found among the texts that are built
with the package. Functions that could not be traced, and schemes that are not part of saltus, stay where they are.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.build.model import UNITS
from saltus.compile import loops
from saltus.compile.native import NativeUnit, compile_text
from saltus.compile.types import LAYOUTS, Model
from saltus.ensemble.engine import Engine, Plan, Reduced, Rows
from saltus.ensemble.reduce import no_reducer
from saltus.errors import SettingError
from saltus.io.settings import describe, rebuild

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel

PLAN_FIELDS = ("width", "single", "skip", "keep", "chain", "max_steps", "energy", "start_tolerance")


def packed(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return a JSON object and arrays as bytes; the same ones for the same content."""
    text = np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8)
    file = io.BytesIO()
    if objects := [name for name, array in arrays.items() if array.dtype.hasobject]:
        raise TypeError(f"{', '.join(objects)}: arrays of objects would be pickled")  # numpy 2.0 has no switch for it
    content: dict[str, Any] = {"about": text, **arrays}
    np.savez(file, **content)
    return file.getvalue()


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what was packed."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(arrays.pop("about").tobytes()), arrays


def blueprint(engine: Engine, model: CompiledModel) -> bytes:
    """Return an engine as bytes.

    Raises
    ------
    SettingError
        Where something of it belongs to this process.
    """
    if model.opaque_names:
        raise SettingError(
            f"{', '.join(model.opaque_names)} cannot be traced, so the model stays in this process: take Serial() or "
            "Threads() as executor and no store, or write the function without what cannot be traced"
        )
    about: dict[str, Any] = {"plan": {name: getattr(engine.plan, name) for name in PLAN_FIELDS}}
    for name in ("scheme", "control"):
        about[name] = described(getattr(engine, name), name)
    texts: list[str] = []
    about["units"] = [_numbered(getattr(engine.units, name), texts) for name in UNITS]
    about["own"] = None if engine.plan.own is no_reducer else _numbered(engine.plan.own, texts)
    about["code"] = []
    par = engine.units.par.copy()
    for slot in model.par_layout:
        for place in range(slot.offset, slot.offset + slot.size, 2) if slot.kind == "code" else ():
            text, name = loops.text_at(int(par[place]))
            about["code"].append([place, _place_of(text, texts), name])
            par[place] = 0.0
    about["texts"] = texts
    arrays = {
        "par": par, "e": engine.units.e, "mu": engine.units.mu, "e_t": engine.units.e_t,
        "layout": np.asarray(engine.units.layout), "watches": engine.plan.watches, "own": engine.plan.own_numbers,
        "breaks": engine.plan.breaks,
    }  # fmt: skip
    return packed(about, arrays)


def described(thing: Any, family: str) -> Any:
    """Return a scheme or control as JSON values from which the same one is made again."""
    made = describe(thing)
    try:
        same = rebuild(made, family) == thing
    except SettingError:
        same = False
    if not same:
        raise SettingError(f"{thing!r} is not part of saltus, so it stays in this process: take Serial() or Threads()")
    return made


def _place_of(text: str, texts: list[str]) -> int:
    if text not in texts:
        texts.append(text)
    return texts.index(text)


def _numbered(unit: Any, texts: list[str]) -> int:
    if not isinstance(unit, NativeUnit):
        raise SettingError("models that run interpreted stay in this process: take Serial() or Threads() as executor")
    return _place_of(unit.text, texts)


def engine_of(content: bytes) -> Engine:
    """Return the engine that bytes describe, compiled for this process."""
    about, arrays = unpacked(content)
    texts = about["texts"]
    codes = [compile_text(text) for text in texts]

    par = arrays["par"].copy()
    for place, which, name in about["code"]:
        par[place] = float(loops.register(texts[which], name, codes[which][name]))
    functions = [NativeUnit(codes[k], texts[k], name) for name, k in zip(UNITS, about["units"], strict=True)]
    laws = arrays["e"], arrays["mu"], arrays["e_t"]
    units = Model(*functions, par, *laws, LAYOUTS(arrays["layout"]))
    own = no_reducer if about["own"] is None else NativeUnit(codes[about["own"]], texts[about["own"]], "reduce")
    plan = Plan(arrays["watches"], own=own, own_numbers=arrays["own"], breaks=arrays["breaks"], **about["plan"])
    scheme, control = rebuild(about["scheme"], "scheme"), rebuild(about["control"], "control")
    return Engine(units, scheme, control, plan, keeps=codes)


def packed_rows(rows: Rows) -> bytes:
    """Return rows as bytes."""
    return packed({}, {field.name: getattr(rows, field.name) for field in dataclasses.fields(Rows)})


def rows_from(content: bytes) -> Rows:
    """Return rows that were packed."""
    return Rows(**unpacked(content)[1])


def packed_reduced(reduced: Reduced) -> bytes:
    """Return what is left of runs as bytes."""
    return packed({}, {field.name: getattr(reduced, field.name) for field in dataclasses.fields(Reduced)})


def reduced_from(content: bytes) -> Reduced:
    """Return what was packed."""
    return Reduced(**unpacked(content)[1])


def digest_of(*contents: bytes) -> str:
    """Return what identifies bytes."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()
