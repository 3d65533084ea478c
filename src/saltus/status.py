"""Statuses of kernels and runs: small integers inside, sentences outside."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """What a kernel reports; `sentence` says it in words."""

    OK = 0
    FULL = 1
    CHUNK = 2
    INTERRUPTED = 3
    REJECTED = 4
    TERMINATED = 5
    NONFINITE = 10
    MASS_INDEFINITE = 11
    NEWTON_STALLED = 12
    CONTACT_STALLED = 13
    CONTACT_UNSOLVABLE = 14
    JOINTS_CONTRADICT = 15
    DRIFT_STALLED = 16
    STEP_TOO_SMALL = 17
    MODEL_FAILED = 18
    STEP_CHANGED = 19
    JAMMED = 20
    DEGREES_SPENT = 21
    DRIFT_TOO_LARGE = 22
    EVENTS_CROWDED = 23
    STEPS_SPENT = 30
    MEMORY_SPENT = 31
    CHATTERING = 32
    SLIDING_MODE = 33
    CORNERED = 38
    MOTION_MISSED = 34
    GAP_MISSED = 35
    LAW_MISSED = 36
    GAP_JUMPED = 37
    START_REFUSED = 40
    CRASHED = 41
    ENDLESS = 42
    NOT_RUN = 43

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Status.OK: "The run reached the end of its time span.",
    Status.FULL: "A result table is full.",
    Status.CHUNK: "The run has more steps to do.",
    Status.INTERRUPTED: "The run was interrupted; it holds everything up to the last finished step.",
    Status.REJECTED: "The step was rejected.",
    Status.TERMINATED: "The run was ended by a terminal event.",
    Status.NONFINITE: "A state became infinite or not a number.",
    Status.MASS_INDEFINITE: "The mass matrix M, or the iteration matrix of an implicit step, is not positive definite.",
    Status.NEWTON_STALLED: "The implicit equations of a step did not converge; take a smaller h.",
    Status.CONTACT_STALLED: "The contact solver did not reach its tolerance.",
    Status.CONTACT_UNSOLVABLE: "The contact problem of a step has no solution that the solver could find.",
    Status.JOINTS_CONTRADICT: "The joints contradict each other: no velocity satisfies all of them.",
    Status.DRIFT_STALLED: "The position projection did not reach its tolerance; take a smaller h.",
    Status.STEP_TOO_SMALL: "The step size fell below its floor.",
    Status.MODEL_FAILED: "A model function reported a failure.",
    Status.STEP_CHANGED: "The step size changed, but the scheme remembers the step before; keep h.",
    Status.JAMMED: "A sliding contact jams: no finite contact force keeps it closed (Painleve).",
    Status.DEGREES_SPENT: "The list of degrees is shorter than the run has intervals; add degrees or give one number.",
    Status.DRIFT_TOO_LARGE: "A closed contact or a joint has drifted away from its place; take a smaller tol.",
    Status.EVENTS_CROWDED: "Events follow each other without end at one time; check their functions and resets.",
    Status.STEPS_SPENT: "The run has made as many steps as max_steps allows, rejected ones included.",
    Status.MEMORY_SPENT: "The results have outgrown max_memory; give more, or keep less with save= or t_eval=.",
    Status.CHATTERING: "The run chatters: it goes on making steps, but its time does not advance.",
    Status.MOTION_MISSED: "The equations of motion are missed between the nodes of intervals however short they are; "
    "look for values of f or M that are not numbers, and for forces that change within rounding of the time.",
    Status.GAP_MISSED: "A closed contact or a joint is left, or an open contact passed, inside of intervals however "
    "short they are; look for jumps of its gap, or for a gap that is not a number.",
    Status.LAW_MISSED: "Contact forces leave their law inside of intervals however short they are; look for contacts "
    "that share their forces.",
    Status.GAP_JUMPED: "A joint jumps, or the gap of a contact jumps below zero: the body would be inside of what it "
    "touches. Let joints and gaps be continuous (a ramp), or give what comes towards the body a contact of its own.",
    Status.START_REFUSED: "The start violates a contact or a joint.",
    Status.CRASHED: "The process that made the run died.",
    Status.ENDLESS: "The run took longer than it was given.",
    Status.NOT_RUN: "The run was not made.",
    Status.CORNERED: "A contact strikes and is released in turn in a corner of its gap, too slowly to be seen: give "
    "each face a contact of its own, as two of them for q[1] - abs(q[0]).",
    Status.SLIDING_MODE: "A velocity slides along a jump of the force, which no step can follow.",
}
