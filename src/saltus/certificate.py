"""What a run says about itself between its nodes: equations of motion, gaps, joints and contact forces inside of steps.

A run is a function of time, and its certificate is the largest error of that function, not of its nodes. Every kept
step is looked at on its dense output, at places that belong to no grid and near the largest values among them:

defect      how far M v_dot = f + W r is missed, as a velocity over its interval:
            duration |v_dot - M^-1 (f + W r)| / (scale + largest |v| of the run), the largest over all velocities
violation   depth of a contact, |g| of a contact that carries a force and of a joint [m]
excess      force outside of the contact law, max(-r_N, |r_T| - mu r_N, 0) [N]
load        largest contact force, or force that a contact row feels before reactions [N]

Steps that were not kept (save=, t_eval=) have what flights found out about them while they were made, at fewer places
(flight/inspect.py); schemes with fixed steps know their ends only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from saltus.compile.failure import failures_raised
from saltus.compile.seam import handle, ready, row_of, unit
from saltus.compile.types import MODEL_RECORD, A, I
from saltus.reaction.look import FOUND, look_at, look_work
from saltus.schemes.traits import traits_of

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel
    from saltus.solution import Solution

__all__ = ["FOUND", "look_inside"]


class _Certified(NamedTuple):
    """Tuned numbers of this file."""

    places_of_span: int = 2000  # over the whole span: what lasts for a thousandth of it is met
    places_per_node: int = 3  # polynomials have one extremum between two nodes
    places_of_step: int = 4  # of schemes whose steps are curves of second order
    closer: int = 5  # further places between the neighbours of the largest value
    golden: float = 0.6180339887498949  # multiples of it fit no grid
    chunk: int = 1 << 18  # places that are looked at together, so that memory stays flat
    shortest: float = 16.0  # roundings of the clock
    degree_room: int = 3  # polynomials of flights have a degree higher by two, and one node more


CERTIFIED = _Certified()


def look_inside(solution: Solution) -> np.ndarray:
    """Return the largest defect, violation, excess and load inside of each step (n, 4); 0 where it was not kept."""
    made = np.zeros((len(solution.t) - 1, FOUND.all))
    ends = np.flatnonzero(solution._whole(np.arange(len(solution.t))))
    # the clock knows no times between the ends of steps that are as short as its rounding
    short = solution.t[ends] - solution.t[ends - 1] <= CERTIFIED.shortest * np.spacing(np.abs(solution.t[ends]))
    ends = ends[~short]
    if len(ends) == 0:
        return made
    counts = _counts(solution, ends)
    for count in sorted(set(counts.tolist())):  # np.unique would import numpy.ma, a tenth of a first result
        alike = ends[counts == count]
        for first in range(0, len(alike), max(CERTIFIED.chunk // count, 1)):
            part = alike[first : first + max(CERTIFIED.chunk // count, 1)]
            made[part - 1] = _worst(solution, part, count)
    return made


def _counts(solution: Solution, ends: np.ndarray) -> np.ndarray:
    """Return at how many places each step is looked at."""
    share = (solution.t[ends] - solution.t[ends - 1]) / (solution.t[-1] - solution.t[0])
    least = np.full(len(ends), CERTIFIED.places_of_step)
    if hasattr(solution.scheme, "reaction"):
        least = CERTIFIED.places_per_node * (solution.step_degree[ends - 1].astype(int) + CERTIFIED.degree_room)
    # powers of two beyond the least, so that few shapes are left
    wanted = np.maximum(np.ceil(CERTIFIED.places_of_span * share), least)
    return (least * 2 ** np.ceil(np.log2(wanted / least))).astype(int)


def _worst(solution: Solution, ends: np.ndarray, count: int) -> np.ndarray:
    """Return the largest values inside of steps, each looked at in `count` places and around the largest of them."""
    offset = (CERTIFIED.golden * ends) % 1.0
    # denser towards the ends, where polynomials stray most
    s = 0.5 - 0.5 * np.cos(np.pi * (np.arange(count) + offset[:, None]) / count)
    found = _found(solution, ends, s)
    worst = found.max(axis=1)
    borders = np.concatenate([np.zeros((len(ends), 1)), s, np.ones((len(ends), 1))], axis=1)
    for k in (FOUND.defect, FOUND.violation, FOUND.excess):
        seen = np.flatnonzero(worst[:, k] > 0.0)
        if len(seen) == 0:
            continue
        at = found[seen, :, k].argmax(axis=1)
        low, high = borders[seen, at][:, None], borders[seen, at + 2][:, None]
        closer = low + (high - low) * (np.arange(CERTIFIED.closer) + 0.5) / CERTIFIED.closer
        worst[seen] = np.maximum(worst[seen], _found(solution, ends[seen], closer).max(axis=1))
    return worst


def _found(solution: Solution, ends: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return what is found at places s (steps, places) of the steps that end at these nodes."""
    start = solution.t[ends - 1][:, None]
    t = start + s * (solution.t[ends][:, None] - start)
    return certificate_at(solution, t.ravel(), np.repeat(ends, s.shape[1])).reshape(*s.shape, FOUND.all)


def certificate_at(solution: Solution, t: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return defect, violation, excess and load at times inside of the steps that end at given nodes (times, 4)."""
    q, v, r, a, duration = solution._inside_of(t, ends)
    made = np.zeros((len(t), FOUND.all))
    model = cast("CompiledModel", solution._model)  # a loaded solution has kept what was found here
    scale = solution._velocity_scale + np.abs(solution.v).max(axis=0)
    closes = int(traits_of(solution.scheme).locates_events)
    with failures_raised(called=model.calls_python):
        status = ready(found_inside)(
            model.units, t.copy(), q.ravel(), v.ravel(), a.ravel(), r.ravel(), duration, closes, scale,
            np.zeros(look_work(model.layout)), made.reshape(-1),
        )  # fmt: skip
    if status != 0:
        made[:] = np.nan  # a mass matrix that is not positive definite: nothing is known
    if not hasattr(solution.scheme, "reaction"):
        # forces are what impacts leave of the reaction of a step, rounding of them included
        h = solution.t[ends] - solution.t[ends - 1]
        carried = np.abs(solution.impulse[ends - 1]).max(axis=1, initial=0.0) / h
        np.maximum(made[:, FOUND.load], carried, out=made[:, FOUND.load])
    return made


@unit(I(MODEL_RECORD, A, A, A, A, A, A, I, A, A, A), entry=True)
def found_inside(model, t, q, v, a, r, duration, closes, scale, work, out):
    """Write what is found at every time; all arrays are flat; duration: of the intervals, 0 where no v_dot is known."""
    layout, held = model.layout, handle(model)
    nq, nv, nr = layout.nq, layout.nv, layout.nr
    for k in range(t.shape[0]):
        status = look_at(
            held, t[k], row_of(q, k, nq), row_of(v, k, nv), row_of(a, k, nv), row_of(r, k, nr), duration[k],
            closes, scale, work, row_of(out, k, FOUND.all),
        )  # fmt: skip
        if status != 0:
            return status
    return 0
