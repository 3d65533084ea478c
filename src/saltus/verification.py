"""Verification: what a second run says about a first one; made by `Solution.verify`, read from files, drawn."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERIFIED_QUANTITIES = ("q", "v", "i")
Why = Literal["tie", "graze", "not unique", "sensitive", "one run only", "accumulated", "ends"]
REASONS = {
    "tie": "contacts strike closer together than a run can resolve, and the outcome depends on their order",
    "graze": "a contact is touched so slowly that a small difference decides about the impact",
    "not unique": "several motions or forces keep the laws from there on",
    "sensitive": "small differences grow exponentially with time; a smaller tol helps for some time only",
    "one run only": "something happens there that one run sees and the other one does not",
    "accumulated": "small differences have added up; a smaller tol, or a smaller h, makes them smaller",
    "ends": "one run ends there and the other one goes on",
}


@dataclasses.dataclass(frozen=True)
class Parting:
    """Where two runs part.

    Attributes
    ----------
    t
        Time of the event [s], or from when on the difference stays larger than the tolerance where there is none.
    contact, kind
        Contact (or event of the user) and kind of the event as in `Solution.events`; empty where there is none.
    why
        "tie", "graze", "not unique", "sensitive", "one run only", "accumulated" or "ends"; `sentence` says it in words.
    rate
        Rate at which differences grow before [1/s], by the factor e within 1 / rate; only for a sensitive motion.
    """

    t: float
    contact: str
    kind: str
    why: Why
    rate: float | None = None

    @property
    def sentence(self) -> str:
        """Where and why, in one sentence."""
        what = f"{self.kind} of {self.contact!r}, " if self.kind else ""
        grows = "" if self.rate is None else f" (tenfold within {np.log(10.0) / self.rate:.3g} s)"
        return f"{what}t = {self.t:.9g} s: {self.why}{grows}, {REASONS[self.why]}."


@dataclasses.dataclass(frozen=True, eq=False)
class Verification:
    """What a second run with other steps and a smaller tolerance says about a run; `str()` says it in words.

    Attributes
    ----------
    by
        What the second run was.
    tolerance
        What the differences are judged by: the tolerance of the run, or a hundredth where the scheme promises none.
    promised
        Whether the scheme has such a tolerance.
    errors
        {"q", "v", "i"}: means over time of the norm of the difference, in units of q, of v and [N s]; i(t) is the
        impulse that the contacts have accumulated since the start.
    ratios
        {"q", "v", "i"}: the same over tolerance (1 + largest norm), in units of `scale` where the run has one. The
        promise is kept where they are at most 1.
    begin, until, end
        Times [s]: of the start; up to which the promise is kept (a run that had ended there would have kept it); up to
        which both runs were compared.
    parting
        Where the runs part and why; None where they do not.
    undecided
        Events (t [s], contact, kind) at which the laws leave the outcome open, ties and motions that are not unique,
        of the first run, or of the second one if only that has any: both may agree and another motion be as true.
    note
        What went wrong with the second run; empty where nothing did.
    t, growth
        Times [s] and, for q, v and i, the ratios of a run that had ended there.
    """

    by: str
    tolerance: float
    promised: bool
    errors: dict[str, float]
    ratios: dict[str, float]
    begin: float
    until: float
    end: float
    parting: Parting | None
    undecided: tuple[tuple[float, str, str], ...]
    note: str
    t: np.ndarray = dataclasses.field(repr=False)
    growth: np.ndarray = dataclasses.field(repr=False)

    def __post_init__(self):
        for array in (self.t, self.growth):
            array.setflags(write=False)

    @property
    def kept(self) -> bool:
        """Whether both runs agree within the tolerance up to their end."""
        return self.parting is None and not self.note and max(self.ratios.values()) <= 1.0

    @property
    def sentence(self) -> str:
        """The result in one or two sentences, as `Solution.message` has it."""
        worst = max(self.ratios, key=lambda name: self.ratios[name])
        said = (
            f"A second run ({self.by}) differs by {self.ratios[worst]:.2g} times {self._measure} in the mean, most "
            f"in {worst}."
        )
        if self.parting is not None:
            said += f" In the mean they agree up to t = {self.until:.6g} s. They part here: {self.parting.sentence}"
        return f"{said} {self.note}".strip()

    @property
    def _measure(self) -> str:
        return "what is promised" if self.promised else f"{self.tolerance:g} of the motion"

    def __str__(self) -> str:
        verdict = "kept" if self.kept else "not kept"
        lines = [
            f"Second run: {self.by}.",
            f"Mean errors of q, v, i: {', '.join(f'{self.errors[name]:.3g}' for name in VERIFIED_QUANTITIES)}; "
            f"{', '.join(f'{self.ratios[name]:.2g}' for name in VERIFIED_QUANTITIES)} of {self._measure}"
            + (f" (tol = {self.tolerance:g}): {verdict}." if self.promised else "."),
        ]
        if self.until >= self.end:
            lines.append(f"In the mean both runs agree up to t = {self.end:.9g} s, the end.")
        else:
            lines.append(f"In the mean both runs agree up to t = {self.until:.9g} s, of {self.end:.9g} s.")
        if self.parting is not None:
            lines.append(f"They part here: {self.parting.sentence}")
        if self.undecided:
            t, contact, kind = self.undecided[0]
            lines.append(
                f"Left open by the laws, so that other motions are as true: {len(self.undecided)} rows of ties and "
                f"motions that are not unique, first {kind} of {contact!r} at t = {t:.9g} s."
            )
        return "\n".join([*lines, self.note] if self.note else lines)

    def plot(self, *, path: str | os.PathLike | None = None) -> Figure:
        """Draw the ratios of q, v and i over the time at which a run ends; returns the matplotlib figure."""
        from saltus.plot import plot_verification

        return plot_verification(self, path=path)
