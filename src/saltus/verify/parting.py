"""Parting: the event at which two runs of one problem part, and why.

Between two events the difference of two runs is small as long as they tell the same story. It is large for an instant
around every impact, because the times of impacts differ a little, so that the median of the time between events
counts. Where it passes the tolerance and stays above it, the runs part: at once, by an event that is a tie, a graze, a
motion that is not unique or an event of one run only; or slowly, because differences grow exponentially or add up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltus.compile.seam import interpreted
from saltus.solution import Solution
from saltus.verification import Parting
from saltus.verify.difference import Difference

SAID = ("tie", "not unique", "gain")  # kinds of rows that say something about an event and are none themselves
OPEN = ("tie", "not unique")  # those at which the laws leave the outcome open


class _Parting(NamedTuple):
    """Tuned numbers of this file."""

    calm: int = 64  # least number of windows, for runs with few events
    jump: float = 30.0  # growth of the difference over the largest of the windows before that is a parting at an event,
    recent: int = 8  # of so many of them, because small bounces, out of step, differ by all of their speed now and then
    graze: float = 0.1  # of the fastest approach of the contact: slower ones are grazes
    folds: float = 4.0  # growth by e^4 before the runs part decides: it is exponential where
    # it took at most this share of the time since the start; a power of time would have to be the sixth
    late: float = 0.5
    floor: float = 1e-16  # relative difference below which there is only rounding
    # of what impulses could do one by one: differences that do less move nothing, the contacts share them
    cancels: float = 0.1


PARTING = _Parting()


def parting(run: Solution, other: Solution, apart: Difference, tol: float, until: float) -> Parting:
    """Return where and why the runs part that agree within tol up to a time [s] and not up to their end."""
    events = _told(run, other)
    borders, typical = _windows(apart, events["t"])
    last = min(int(np.searchsorted(borders, until, side="right")), len(typical))  # the window behind `until` counts
    lasting = np.minimum.accumulate(typical[:last][::-1])[::-1]
    parted = np.flatnonzero(lasting > tol)
    if len(parted) == 0:
        return _impulses(run, other, apart, until)
    for k in parted[parted > 0]:
        before = float(np.max(typical[max(k - PARTING.recent, 0) : k], initial=PARTING.floor))
        if lasting[k] > PARTING.jump * before:
            t = _onset(apart, float(borders[k]), float(borders[k + 1]), PARTING.jump * before, events["t"])
            return _sudden(run, other, t, float(borders[k + 1]), _lag(apart, run, other, t))
    first = int(parted[0])
    t, rate = float(borders[first]), _rate(borders, lasting[: first + 1])
    return Parting(t, *_name(events, t), "accumulated" if rate is None else "sensitive", rate)


def undecided(run: Solution, other: Solution) -> tuple[tuple[float, str, str], ...]:
    """Return the events (t, contact, kind) whose outcome the laws leave open, of the first run that has any."""
    found = [sol.events[np.isin(sol.events["kind"], OPEN)] for sol in (run, other)]
    rows = found[0] if len(found[0]) else found[1]
    return tuple((float(row["t"]), str(row["contact"]), str(row["kind"])) for row in rows)


def _told(run: Solution, other: Solution) -> np.ndarray:
    """Return the events of both runs in order of time, without rows that only say something about others."""
    made = np.concatenate([run.events, other.events])
    made = made[~np.isin(made["kind"], SAID)]
    return made[np.argsort(made["t"], kind="stable")]


def _windows(apart: Difference, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the borders between windows and the median of the relative difference of q and v inside of each."""
    marks = apart.marks
    even = marks[np.searchsorted(marks, np.linspace(marks[0], marks[-1], PARTING.calm + 1)).clip(max=len(marks) - 1)]
    borders = np.unique(np.concatenate([even, times[(times > marks[0]) & (times < marks[-1])], marks[[0, -1]]]))
    value = np.max(apart.typical[:, :2] / (1.0 + apart.size[:, :2]), axis=1)
    window = np.searchsorted(borders, marks[:-1], side="right") - 1
    order = np.lexsort((value, window))
    window, value, length = window[order], value[order], np.diff(marks)[order]
    passed = np.cumsum(length)
    begin = np.searchsorted(window, np.arange(len(borders) - 1))
    end = np.searchsorted(window, np.arange(len(borders) - 1), side="right")
    before = np.concatenate([[0.0], passed])
    half = 0.5 * (before[begin] + before[end])
    middle = np.searchsorted(passed, half).clip(begin, np.maximum(end - 1, begin))
    return borders, value[middle.clip(max=len(value) - 1)]


def _onset(apart: Difference, begin: float, end: float, level: float, times: np.ndarray) -> float:
    """Return from when on the difference is above a level inside of a window [s]; its begin, where that is an event."""
    if np.any(times == begin):
        return begin
    value = np.max(apart.typical[:, :2] / (1.0 + apart.size[:, :2]), axis=1)
    inside = (apart.marks[:-1] >= begin) & (apart.marks[:-1] < end) & (value > level)
    return float(apart.marks[:-1][inside][0]) if np.any(inside) else begin


def _lag(apart: Difference, run: Solution, other: Solution, t: float) -> float:
    """Return how far apart in time the same event of two runs may be near t [s]: the longest such distance before."""
    lag = 1e-9 * apart.span
    for name in np.unique(run.events["contact"]):
        mine, theirs = (
            sol.events["t"][(sol.events["contact"] == name) & (sol.events["kind"] == "impact") & (sol.events["t"] < t)]
            for sol in (run, other)
        )
        if len(mine) and len(mine) == len(theirs):
            lag = max(lag, 10.0 * float(np.max(np.abs(mine - theirs))))
    return lag


def _sudden(run: Solution, other: Solution, t: float, following: float, lag: float) -> Parting:
    """Return why runs part at once at an event."""
    lag = min(lag, following - t)
    near = [sol.events[np.abs(sol.events["t"] - t) <= lag] for sol in (run, other)]
    for kind in OPEN:
        for rows in near:
            said = rows[rows["kind"] == kind]
            if len(said):
                return Parting(float(said["t"][0]), str(said["contact"][0]), kind, kind)  # pyright: ignore[reportArgumentType]
    acts = [rows[~np.isin(rows["kind"], SAID)] for rows in near]
    if not any(len(rows) for rows in acts):
        return Parting(t, "", "", "one run only")
    first = min((rows[0] for rows in acts if len(rows)), key=lambda row: row["t"])
    named = float(first["t"]), str(first["contact"]), str(first["kind"])
    struck = [list(rows["contact"][rows["kind"] == "impact"]) for rows in acts]
    if len(set(struck[0] + struck[1])) > 1 and sorted(struck[0]) == sorted(struck[1]):
        return Parting(*named, "tie")  # the same contacts, in another order or together
    if any(_grazes(run, other, rows) for rows in acts):
        return Parting(*named, "graze")
    open_rows = [sol.events[(sol.events["kind"] == "not unique") & (sol.events["t"] <= t)] for sol in (run, other)]
    if any(len(rows) for rows in open_rows):
        return Parting(*named, "not unique")
    return Parting(*named, "one run only")


def _grazes(run: Solution, other: Solution, rows: np.ndarray) -> bool:
    """Whether a contact is struck slowly, compared with its fastest approach in either run, or with the motion."""
    for row in rows[rows["kind"] == "impact"]:
        fastest = max(
            float(np.max(np.abs(sol.events["u_minus"][sol.events["contact"] == row["contact"], 0]), initial=0.0))
            for sol in (run, other)
        )
        fastest = max(fastest, float(np.max(np.abs(run.v))))
        if abs(float(row["u_minus"][0])) <= PARTING.graze * fastest:
            return True
    return False


def _rate(borders: np.ndarray, lasting: np.ndarray) -> float | None:
    """Return the rate of growth [1/s] if the differences grow exponentially rather than as a power of time.

    lasting: what the difference does not fall below any more, by window, up to the one in which the runs part.
    """
    smaller = np.flatnonzero(lasting <= np.exp(-PARTING.folds) * lasting[-1])
    if len(smaller) == 0:
        return None
    middle = 0.5 * (borders[1:] + borders[:-1])
    k, last = int(smaller[-1]), len(lasting) - 1
    if lasting[k] < PARTING.floor:
        return None
    took, passed = float(middle[last] - middle[k]), float(middle[last] - borders[0])
    return float(np.log(lasting[last] / lasting[k])) / took if took <= PARTING.late * passed else None


def _impulses(run: Solution, other: Solution, apart: Difference, until: float) -> Parting:
    """Return why runs are apart in the mean although they never part: shared impulses, or many small errors."""
    mean = apart.scaled.sum(axis=0) / (1.0 + apart.size[-1])
    if mean[2] > max(mean[0], mean[1]) and _shared(run, other, float(apart.marks[-1])):
        rows = np.concatenate([sol.events[sol.events["kind"] == "not unique"] for sol in (run, other)])
        first = rows[np.argmin(rows["t"])] if len(rows) else None
        named = ("", "") if first is None else (str(first["contact"]), "not unique")
        return Parting(until if first is None else float(first["t"]), *named, "not unique")
    return Parting(until, "", "", "accumulated")


def _shared(run: Solution, other: Solution, t: float) -> bool:
    """Whether the impulses of two runs differ up to t in what the contacts share without moving anything: W di = 0."""
    units, layout = other._model.units, other._model.layout  # pyright: ignore[reportAttributeAccessIssue]
    W, w = np.empty(int(layout.nw)), np.empty(int(layout.nr))
    interpreted(units.kinematics)(t, other(t).q, units.par, W, w)
    more = run.impulse_at(t) - other.impulse_at(t)
    pushed, alone = np.zeros((2, other.v.shape[1]))
    for r, impulse in enumerate(more):
        begin, end = layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]
        columns = layout[layout.W_col + begin : layout.W_col + end]
        pushed[columns] += W[begin:end] * impulse
        alone[columns] += np.abs(W[begin:end] * impulse)
    return bool(np.linalg.norm(pushed) <= PARTING.cancels * np.linalg.norm(alone))


def _name(events: np.ndarray, t: float) -> tuple[str, str]:
    """Return contact and kind of the event at a time, empty where there is none."""
    here = events[events["t"] == t]
    return (str(here["contact"][0]), str(here["kind"][0])) if len(here) else ("", "")
