"""Errors of one quantity of a run in any of the norms of the studies, the Hausdorff distance among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from saltus.errors import SettingError
from saltus.problem import Exact
from saltus.solution import Solution

from .hausdorff import hausdorff
from .norms import NORMS, errors

ALL_NORMS = (*NORMS, "hausdorff")


def check_norms(norms: Sequence[str]) -> None:
    """Refuse norms that there are not."""
    for norm in norms:
        if norm not in ALL_NORMS:
            raise SettingError(f"norm is {norm!r}: it must be one of {', '.join(ALL_NORMS)}")


def measure(
    run: Solution,
    reference: Solution | Exact | None,
    quantity: str,
    norms: Sequence[str],
    where: Literal["dense", "grid"],
    columns: Sequence[int] | None = None,
) -> dict[str, float]:
    """Return {norm: error}; see `errors` and `hausdorff`."""
    made = errors(run, reference, quantity, [n for n in norms if n in NORMS], where=where, columns=columns)
    if "hausdorff" in norms:
        made["hausdorff"] = hausdorff(run, reference, quantity, columns=columns)
    return made
