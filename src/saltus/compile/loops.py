"""Loops over rows: the units of a kind of family, and how the units of a model walk through them.

One kind of body, force, joint or contact is compiled once, as units that loop over rows of data in `par` (type LOOP).
A model of many kinds is a list of addresses and places in `par`: the text WALKED goes through it, and it is the same
for all models, whatever bodies they are made of.

Behind all else in `par` stands the head (WALK_HEAD): for each unit of the model where its list begins and how many
entries it has, (address, place of the group) each; then how many numbers the mass has, and how many switching functions
there are.
A group begins with its number of rows, where they begin, and where the constants of its kind stand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from saltus.compile.modules import module_from

WALKS = ("mass", "force", "jacobian", "gap", "kinematics", "curvature", "rate", "retract", "switch", "surface")


class _WalkHead(NamedTuple):
    """Places in the head, behind two for each unit, and how many there are."""

    size: int = 2 * len(WALKS)
    ns: int = 2 * len(WALKS) + 1
    all: int = 2 * len(WALKS) + 2


class _Group(NamedTuple):
    """Places of a group of rows, and how many there are."""

    rows: int = 0
    first: int = 1  # where the rows begin
    constants: int = 2  # of the kind
    noise: int = 3  # of t
    holding: int = 4
    events: int = 5  # before the switching functions
    nq: int = 6
    all: int = 7


WALK_HEAD, GROUP = _WalkHead(), _Group()

WALK = f'''@unit(I(F, A, A, A, I, A, A))
def walk(t, q, v, par, which, out, more):
    """Call all loops of one unit of the model."""
    at = par.shape[0] - {WALK_HEAD.all} + 2 * which
    first = int(par[at])
    for k in range(int(par[at + 1])):
        call_at(par[first + 2 * k], t, q, v, par, int(par[first + 2 * k + 1]), out, more)
    return 0


@unit(I(A, A))
def clear(par, out):
    """Write zeros to a matrix in profile storage."""
    for i in range(int(par[par.shape[0] - {WALK_HEAD.all} + {WALK_HEAD.size}])):
        out[i] = 0.0
    return 0
'''


def _walk(name: str, t: str, v: str, out: str, more: str) -> str:
    return f"    walk({t}, q, {v}, par, {WALKS.index(name)}, {out}, {more})\n"


# what the units of a model do with their families
WALKED = {
    "mass": "    clear(par, out)\n" + _walk("mass", "t", "q", "out", "out"),
    "force": _walk("force", "t", "v", "out", "out"),
    "jacobian": "    clear(par, out_q)\n    clear(par, out_v)\n" + _walk("jacobian", "t", "v", "out_q", "out_v"),
    "gap": _walk("gap", "t", "q", "out", "out"),
    "kinematics": _walk("kinematics", "t", "q", "W", "w"),
    "curvature": _walk("curvature", "t", "v", "out", "out"),
    "rate": _walk("rate", "0.0", "v", "out", "out"),
    "retract": _walk("retract", "0.0", "q", "q", "q"),
    "switch": _walk("switch", "t", "v", "out", "out"),
    "surface": f"    out[3 * int(par[par.shape[0] - {WALK_HEAD.all} + {WALK_HEAD.ns}])] = 0.0\n"
    + _walk("surface", "t", "v", "out", "out"),
}


# ---- units by their addresses, for whoever runs a walk as plain Python

_texts: dict[int, tuple[str, str]] = {}  # address -> text and name of a unit
_plain: dict[int, Callable] = {}
_numbers = itertools.count(1)


def register(text: str, name: str, address: int | None = None) -> int:
    """Make a unit known by its address, or by a number where nothing is compiled; return that."""
    number = next(_numbers) if address is None else address
    _texts[number] = text, name
    _plain.pop(number, None)
    return number


def text_at(address: int) -> tuple[str, str]:
    """Return text and name of the unit at an address."""
    return _texts[address]


def call_at(address: float, *arguments: Any) -> int:
    """Call the unit at an address; compiled, this is a call through a pointer."""
    number = int(address)
    if number not in _plain:
        text, name = _texts[number]
        made = getattr(module_from(text, "kind"), name)
        _plain[number] = getattr(made, "py_func", made)
    return _plain[number](*arguments)
