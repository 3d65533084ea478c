"""What the controls of doubled steps share: settings, and the kernel that decides.

A step is judged by the difference between one step h and two steps h/2, by the depth that contacts gained in it and by
how far an impact may be off its place. Smooth steps must not add up to more than the tolerance over the horizon; what
an impact does to the position does not grow with the number of steps, so a step with one may err by the tolerance.
"""

from __future__ import annotations

import dataclasses
import numbers
from math import log
from typing import Literal, NamedTuple

import numpy as np

from saltus.compile.seam import larger, smaller, unit, whole
from saltus.compile.types import DECIDE, F, I
from saltus.compile.workspace import Numbers
from saltus.errors import SettingError
from saltus.schemes.traits import traits_of

SETTINGS = Numbers("order horizon violation impacts safety smallest largest h_max top smoothed")


class _Doubling(NamedTuple):
    """Tuned numbers of this file."""

    guess: float = -1.0  # as order: guess it step by step
    each_step: float = 0.0  # as horizon: every step may err by the tolerance
    impact_share: float = 0.1  # of the tolerance, for each impact: halving steps is cheap, and there are many impacts
    # steps in a row after which the rest of the bracket is taken at once: there may be no impact in it
    most_calm: int = 3
    faint: float = 1e-8  # differences below this share of the tolerance are rounding: they say nothing about the order


DOUBLING = _Doubling()


# last: error of the last accepted smooth step (0: none); rejected: 1 where the last attempt was; smooth: step that
# smooth motion allowed before an impact came near; left: time in which the impact must lie (0: none is near); allowed:
# step that the impact allows; struck: time of the last impact; begun: 0 before the first step; guessed: order; h_seen,
# seen: step and difference that the guess is compared with; calm: steps in a row that came nearer to the impact without
# meeting it
MEMORY = Numbers("last rejected smooth left allowed struck begun guessed h_seen seen calm")


@dataclasses.dataclass(frozen=True)
class DoublingControl:
    """Settings of the controls that need the estimates of StepDoubling; `solve` wraps the scheme in it."""

    norm: Literal["max", "rms", "mean"] = dataclasses.field(default="max", kw_only=True)
    velocities: bool = dataclasses.field(default=False, kw_only=True)
    horizon: float | Literal["span", "step"] | None = dataclasses.field(default=None, kw_only=True)
    violation: bool = dataclasses.field(default=False, kw_only=True)
    impacts: bool = dataclasses.field(default=True, kw_only=True)
    smoothed: bool = dataclasses.field(default=True, kw_only=True)
    safety: float = dataclasses.field(default=0.9, kw_only=True)
    smallest: float = dataclasses.field(default=0.2, kw_only=True)
    largest: float = dataclasses.field(default=6.0, kw_only=True)
    h_max: float = dataclasses.field(default=float("inf"), kw_only=True)

    PARAMETERS = """
    norm
        How coordinates make one estimate: "max", "rms" (root of the mean square) or "mean" (of absolute values).
    velocities
        Whether v counts too in steps without impacts, with the same rtol and atol; where it jumps it never counts.
    horizon
        Time [s] over which the errors of smooth steps may add up to the tolerance; "span" is that of the run, and
        "step" lets every step err by the tolerance, so that the error of the run falls only as its power p / (p + 1).
        None takes "span".
    violation
        Whether the depth counts by which contacts sink in a step, against what rtol and atol allow the gap (74), (75).
        Of no use beside `impacts`, which counts it ten times.
    impacts
        Whether an impact at a wrong time counts: a step in which a contact closes is halved until what its length
        leaves open, in position and velocity, is a tenth of the tolerance. Afterwards the steps go on as long as they
        were before the impact came near. False judges such steps by their difference alone.
    smoothed
        Whether the next step looks at the error before as well (PI control) and does not grow right after a rejection.
        False is (59) of the lecture, h min(largest, max(smallest, safety (1 / error)^(1 / (p + 1)))); with
        horizon="step" and impacts=False the whole control is that of (54) to (59), with violation=True (74), (75) too.
    safety
        Share of the step that the estimate allows.
    smallest, largest
        Least and greatest ratio of a step to the one before.
    h_max
        Longest step [s].
    """

    name = "doubling"
    kernel_memory = MEMORY.size
    first_share = 1e-4  # small enough to see the motion, and soon six times as long

    def __post_init__(self):
        who = type(self).__name__
        if self.norm not in ("max", "rms", "mean"):
            raise SettingError(f"norm of {who} is {self.norm!r}: it must be 'max', 'rms' or 'mean'")
        for field in ("velocities", "violation", "impacts", "smoothed"):
            if not isinstance(getattr(self, field), bool):
                raise SettingError(f"{field} of {who} is {getattr(self, field)!r}: it must be True or False")
        for field in ("safety", "smallest", "largest", "h_max"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise SettingError(f"{field} of {who} is {value!r}: it must be a number")
        if not 0.0 < self.safety < 1.0:
            raise SettingError(f"safety of {who} is {self.safety}: it must lie between 0 and 1")
        if not 0.0 < self.smallest < 1.0 < self.largest:
            raise SettingError(
                f"smallest and largest of {who} are {self.smallest}, {self.largest}: they must enclose 1"
            )
        if not self.h_max > 0.0:
            raise SettingError(f"h_max of {who} is {self.h_max}: it must be a positive time [s]")
        horizon = self.horizon
        timed = isinstance(horizon, numbers.Real) and not isinstance(horizon, bool) and 0.0 < float(horizon) < np.inf
        if horizon is not None and horizon not in ("span", "step") and not timed:
            raise SettingError(f"horizon of {who} is {horizon!r}: it must be 'span', 'step' or a positive time [s]")

    def doubled(self, scheme):
        """Return the scheme with the estimates that the control decides from."""
        from saltus.schemes.step_doubling import StepDoubling  # here, because few runs need it

        who = type(self).__name__
        if traits_of(scheme).adaptive:
            raise SettingError(
                f"{scheme.name} estimates its error itself, so {who} has nothing to compare: leave control out"
            )
        if not isinstance(scheme, StepDoubling):
            return StepDoubling(scheme, norm=self.norm, velocities=self.velocities)
        for field in ("norm", "velocities"):
            if getattr(scheme, field) != getattr(self, field):
                raise SettingError(
                    f"{field} of StepDoubling is {getattr(scheme, field)!r}, but that of {who} is "
                    f"{getattr(self, field)!r}: give both the same, or leave StepDoubling out"
                )
        return scheme

    def over(self, span: float) -> DoublingControl:
        """Return the control for a run over a span [s]."""
        return dataclasses.replace(self, horizon=span) if self.horizon in (None, "span") else self

    @property
    def kernel(self):
        return decide

    def _settings(self, order: float, top: float) -> np.ndarray:
        if self.horizon in (None, "span"):
            raise SettingError(f"the horizon of {type(self).__name__} is not known yet: call over(span) first")
        horizon = DOUBLING.each_step if self.horizon == "step" else float(self.horizon)  # type: ignore[arg-type]  # a time now
        return SETTINGS.filled(
            order=order, horizon=horizon, violation=self.violation, impacts=self.impacts, safety=self.safety,
            smallest=self.smallest, largest=self.largest, h_max=self.h_max, top=top, smoothed=self.smoothed,
        )  # fmt: skip


@unit(DECIDE)
def decide(settings, header, t, h, memory, decision):
    """Accept or reject a doubled step and propose the next h: smooth errors by their order, impacts by their place.

    in      header: error, degree, penetration, misplaced, delayed, events_used of the step (t, t + h)
    in/out  memory: of the steps before; header.error: what was judged, 1 is at the tolerance
    out     decision: next h; returns 0 to accept, 1 to reject. Equations (55), (73), (75) of the lecture
    """
    settings, memory = SETTINGS(settings), MEMORY(memory)
    # ---- the difference, per horizon where the motion is smooth
    difference = header.error * (2.0 ** (header.degree - 1.0) - 1.0)
    horizon, misplaced = settings.horizon, header.misplaced
    if memory.begun == 0.0:
        memory.begun, memory.struck, memory.guessed = 1.0, t, 1.0
    # a jump that is harmless even when judged like a smooth step is none: contacts without load have such of rounding
    impulsive = misplaced * larger(1.0, horizon / h) > (1.0 if horizon > DOUBLING.each_step else 0.0)
    order = settings.order
    if order == DOUBLING.guess:
        changing = header.events_used > 0.0  # contacts that close, let go or begin to slip: forces jump
        order = 0.0 if impulsive else (1.0 if changing else guess(settings, h, difference, memory))
    error = 2.0 * difference if order == 0.0 else difference / (2.0**order - 1.0)  # (73), (55)
    exponent = order + 1.0
    if horizon > DOUBLING.each_step and not impulsive:
        error *= horizon / h
        exponent -= 1.0
    # ---- what belongs to a contact: of order one, and cured by coming nearer to it
    hunts, contact = settings.impacts == 1.0, 0.0
    if hunts:  # a step that ends inside of a body has missed its impact
        contact = header.penetration / DOUBLING.impact_share
    elif settings.violation == 1.0:
        contact = header.penetration  # (75)
    if hunts and impulsive:
        contact = larger(contact, larger(larger(misplaced, header.delayed) / DOUBLING.impact_share, error))
    judged = larger(error, contact)
    header.error = judged

    # ---- the next length
    if not judged <= 1.0:
        memory.rejected = 1.0
        if hunts and contact > 1.0:
            decision[0] = nearer(settings, h, contact, impulsive, memory)
            return 1
        if contact > error and settings.smoothed == 1.0:
            exponent = 1.0
        shrink = settings.safety * judged ** (-1.0 / exponent) if judged < 1e100 else settings.smallest
        decision[0] = h * larger(settings.smallest, smaller(shrink, 0.9))
        return 1
    if hunts and impulsive:
        decision[0] = after_impact(settings, t, h, memory)
    else:
        decision[0] = after_smooth(settings, h, judged, exponent, memory)
    return 0


@unit(F(SETTINGS.kind, F, F, I, MEMORY.kind), small=True)
def nearer(settings, h, contact, impulsive, memory):
    """Return the length with which a rejected step comes nearer to its impact; contact: its error there."""
    if memory.left <= 0.0:
        memory.smooth, memory.allowed = h, 0.0
    memory.left, memory.calm = h, 0.0
    if impulsive == 1:
        memory.allowed = settings.safety * h / contact
    return larger(0.5 * h, smaller(memory.allowed, 0.9 * h))


@unit(F(SETTINGS.kind, F, F, MEMORY.kind), small=True)
def after_impact(settings, t, h, memory):
    """Return the length of the step that follows an accepted one with an impact."""
    since = t + h - memory.struck
    memory.struck, memory.last, memory.rejected = t + h, 0.0, 0.0
    # bounces may follow each other faster and faster: do not look farther ahead than the last flight was long
    allowed = memory.smooth if memory.smooth > 0.0 else h * settings.largest
    memory.left = 0.0
    return smaller(larger(smaller(allowed, since), h), settings.h_max)


@unit(F(SETTINGS.kind, F, F, F, MEMORY.kind), small=True)
def after_smooth(settings, h, judged, exponent, memory):
    """Return the length of the step that follows an accepted smooth one; it may be on its way to an impact."""
    if settings.smoothed == 1.0:
        judged = larger(judged, 1e-10)
        growth = settings.safety * judged ** (-0.7 / exponent)
        if memory.last > 0.0:
            growth *= memory.last ** (0.4 / exponent)
    else:  # (59)
        growth = settings.safety * judged ** (-1.0 / exponent) if judged > 0.0 else settings.largest
    growth = larger(settings.smallest, smaller(growth, settings.largest))
    if memory.rejected == 1.0 and settings.smoothed == 1.0:
        growth = smaller(growth, 1.0)
    memory.last, memory.rejected = judged, 0.0
    h_next = smaller(h * growth, settings.h_max)
    if memory.left > 0.0:
        memory.left -= h
        memory.calm += 1.0
        if memory.left > 0.01 * h:
            share = 0.5 if memory.calm < DOUBLING.most_calm else 1.0
            h_next = smaller(h_next, larger(share * memory.left, memory.allowed))
        else:
            memory.left = 0.0  # the impact did not come
    return h_next


@unit(F(SETTINGS.kind, F, F, MEMORY.kind))
def guess(settings, h, difference, memory):
    """Return the order of smooth steps, as the differences of steps of different lengths tell it."""
    if difference > DOUBLING.faint:
        if memory.h_seen > 0.0:
            ratio = log(h / memory.h_seen)
            if abs(ratio) > 0.25:
                seen = log(difference / memory.seen) / ratio - 1.0
                seen = larger(1.0, smaller(seen, settings.top))
                memory.guessed += 0.5 * smaller(1.0, abs(ratio)) * (seen - memory.guessed)
        memory.h_seen, memory.seen = h, difference
    return larger(1.0, whole(memory.guessed + 0.5) * 1.0)
