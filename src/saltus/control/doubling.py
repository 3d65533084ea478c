"""What the controls of doubled steps share: settings, and the kernel that decides.

A step is judged by the difference between one step h and two steps h/2, by the depth that contacts gained in it and by
how far an impact may be off its place. Smooth steps must not add up to more than the tolerance over the horizon; what
an impact does to the position does not grow with the number of steps, so a step with one may err by the tolerance.
"""

from __future__ import annotations

import dataclasses
import numbers
from math import log
from typing import Literal

import numpy as np

from saltus.compile.seam import larger, smaller, unit, whole
from saltus.compile.types import DECIDE, A, F
from saltus.errors import SettingError
from saltus.schemes.traits import traits_of

ORDER, HORIZON, VIOLATION, IMPACTS, SAFETY, SMALLEST, LARGEST, MOST, TOP, SMOOTHED = range(10)
GUESS = -1.0  # as ORDER: guess it step by step
EACH_STEP = 0.0  # as HORIZON: every step may err by the tolerance

# memory: error of the last accepted smooth step (0: none), whether the last attempt was rejected, the step that smooth
# motion allowed before an impact came near, time left in which the impact must lie (0: none is near), the step that
# the impact allows, time of the last impact, guessed order, step and difference that the guess is compared with,
# and how many steps in a row came nearer to the impact without meeting it
LAST, REJECTED, SMOOTH, LEFT, ALLOWED, STRUCK, BEGUN, GUESSED, H_SEEN, SEEN, CALM = range(11)
IMPACT_SHARE = 0.1  # of the tolerance, for each impact: halving steps is cheap, and there are many impacts
MOST_CALM = 3  # steps in a row after which the rest of the bracket is taken at once: there may be no impact in it
FAINT = 1e-8  # differences below this share of the tolerance are rounding: they say nothing about the order


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
    kernel_memory = 11
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
        horizon = EACH_STEP if self.horizon == "step" else float(self.horizon)  # type: ignore[arg-type]  # a time now
        return np.array(
            [
                order,
                horizon,
                self.violation,
                self.impacts,
                self.safety,
                self.smallest,
                self.largest,
                self.h_max,
                top,
                self.smoothed,
            ],
            dtype=float,
        )


@unit(DECIDE)
def decide(settings, header, t, h, memory, decision):
    """Accept or reject a doubled step and propose the next h: smooth errors by their order, impacts by their place.

    in      header: error, degree, penetration, misplaced, delayed, events_used of the step (t, t + h)
    in/out  memory: of the steps before; header.error: what was judged, 1 is at the tolerance
    out     decision: next h; returns 0 to accept, 1 to reject. Equations (55), (73), (75) of the lecture
    """
    # ---- the difference, per horizon where the motion is smooth
    difference = header.error * (2.0 ** (header.degree - 1.0) - 1.0)
    horizon, misplaced = settings[HORIZON], header.misplaced
    if memory[BEGUN] == 0.0:
        memory[BEGUN], memory[STRUCK], memory[GUESSED] = 1.0, t, 1.0
    # a jump that is harmless even when judged like a smooth step is none: contacts without load have such of rounding
    impulsive = misplaced * larger(1.0, horizon / h) > (1.0 if horizon > EACH_STEP else 0.0)
    order = settings[ORDER]
    if order == GUESS:
        changing = header.events_used > 0.0  # contacts that close, let go or begin to slip: forces jump
        order = 0.0 if impulsive else (1.0 if changing else guess(settings, h, difference, memory))
    error = 2.0 * difference if order == 0.0 else difference / (2.0**order - 1.0)  # (73), (55)
    exponent = order + 1.0
    if horizon > EACH_STEP and not impulsive:
        error *= horizon / h
        exponent -= 1.0
    # ---- what belongs to a contact: of order one, and cured by coming nearer to it
    hunts, contact = settings[IMPACTS] == 1.0, 0.0
    if hunts:  # a step that ends inside of a body has missed its impact
        contact = header.penetration / IMPACT_SHARE
    elif settings[VIOLATION] == 1.0:
        contact = header.penetration  # (75)
    if hunts and impulsive:
        contact = larger(contact, larger(larger(misplaced, header.delayed) / IMPACT_SHARE, error))
    judged = larger(error, contact)
    header.error = judged

    # ---- rejected
    if not judged <= 1.0:
        memory[REJECTED] = 1.0
        if hunts and contact > 1.0:
            if memory[LEFT] <= 0.0:
                memory[SMOOTH], memory[ALLOWED] = h, 0.0
            memory[LEFT], memory[CALM] = h, 0.0
            if impulsive:
                memory[ALLOWED] = settings[SAFETY] * h / contact
            decision[0] = larger(0.5 * h, smaller(memory[ALLOWED], 0.9 * h))
            return 1
        if contact > error and settings[SMOOTHED] == 1.0:
            exponent = 1.0
        shrink = settings[SAFETY] * judged ** (-1.0 / exponent) if judged < 1e100 else settings[SMALLEST]
        decision[0] = h * larger(settings[SMALLEST], smaller(shrink, 0.9))
        return 1

    # ---- accepted near or at an impact
    if hunts and impulsive:
        since = t + h - memory[STRUCK]
        memory[STRUCK], memory[LAST], memory[REJECTED] = t + h, 0.0, 0.0
        # bounces may follow each other faster and faster: do not look farther ahead than the last flight was long
        allowed = memory[SMOOTH] if memory[SMOOTH] > 0.0 else h * settings[LARGEST]
        memory[LEFT] = 0.0
        decision[0] = smaller(larger(smaller(allowed, since), h), settings[MOST])
        return 0
    if settings[SMOOTHED] == 1.0:
        judged = larger(judged, 1e-10)
        growth = settings[SAFETY] * judged ** (-0.7 / exponent)
        if memory[LAST] > 0.0:
            growth *= memory[LAST] ** (0.4 / exponent)
    else:  # (59)
        growth = settings[SAFETY] * judged ** (-1.0 / exponent) if judged > 0.0 else settings[LARGEST]
    growth = larger(settings[SMALLEST], smaller(growth, settings[LARGEST]))
    if memory[REJECTED] == 1.0 and settings[SMOOTHED] == 1.0:
        growth = smaller(growth, 1.0)
    memory[LAST], memory[REJECTED] = judged, 0.0
    decision[0] = smaller(h * growth, settings[MOST])
    if memory[LEFT] > 0.0:
        memory[LEFT] -= h
        memory[CALM] += 1.0
        if memory[LEFT] > 0.01 * h:
            share = 0.5 if memory[CALM] < MOST_CALM else 1.0
            decision[0] = smaller(decision[0], larger(share * memory[LEFT], memory[ALLOWED]))
        else:
            memory[LEFT] = 0.0  # the impact did not come
    return 0


@unit(F(A, F, F, A))
def guess(settings, h, difference, memory):
    """Return the order of smooth steps, as the differences of steps of different lengths tell it."""
    if difference > FAINT:
        if memory[H_SEEN] > 0.0:
            ratio = log(h / memory[H_SEEN])
            if abs(ratio) > 0.25:
                seen = log(difference / memory[SEEN]) / ratio - 1.0
                seen = larger(1.0, smaller(seen, settings[TOP]))
                memory[GUESSED] += 0.5 * smaller(1.0, abs(ratio)) * (seen - memory[GUESSED])
        memory[H_SEEN], memory[SEEN] = h, difference
    return larger(1.0, whole(memory[GUESSED] + 0.5) * 1.0)
