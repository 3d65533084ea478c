"""Certificate: what a run reports about itself, against the same computed from outside at 1000 random times.

Runs are drawn from the classes of kinks.py. With the user's own functions, sol(t) and sol.force_at(t) alone:

residual        h |v' - M^-1 (f + W r)| / (1 + largest |v|), v' by differences of sol(t), h the length of the step
violation       penetration of any contact, distance of those that carry a force [m]
admissibility   how far contacts pull or friction leaves its cone, over the largest force carried or felt

None of them may exceed what the step, or (second figure) the run as a whole, reports by more than a factor 1.5 plus
rounding.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings

import numpy as np
from judge import Job, Verdict, finish, message_of, options, run_jobs, scheme_of
from kinks import CLASSES, draw

import saltus as sl

COUNT, TIMES = 100, 1000  # runs, times of each
FACTOR = 1.5
LIMIT = 120.0  # seconds of wall time of a run
SCHEMES = ("hp-tdg", "event-driven")
SHIFT = 1e-3  # of a step: by how much times are moved for v'
MOVED = 1e-5  # of 1 + |q|, and a fifth of it: by how much coordinates are moved for W
STRAIGHT = 1e-6  # gradients by both that differ by more, relatively, lie at a kink and are not judged
ROUNDING = 1e-10  # of differences, in what a step adds to velocities
DIGITS = 1e-13  # of the coordinates: rounding of gaps
CARRIES = 1e-6  # of the largest force: less is not a contact that carries
NAMES = ("residual", "violation", "admissibility")


def called(function, t: float, q: np.ndarray, v: np.ndarray | None = None):
    """A quantity of the user at a state, whatever arguments it takes."""
    if not callable(function):
        return function
    count = len(inspect.signature(function).parameters)
    return function(*{1: (q,), 2: (t, q), 3: (t, q, v)}[count])


def mass_matrix(system: sl.System, t: float, q: np.ndarray) -> np.ndarray:
    made = np.asarray(called(system.M, t, q), dtype=float)
    if made.ndim == 2:
        return made
    return np.diag(np.broadcast_to(made, q.shape))


def gradient(contact: sl.Contact, t: float, q: np.ndarray) -> np.ndarray | None:
    """dg/dq by differences of two widths; None at a kink."""
    found = []
    for width in (MOVED, MOVED / 5.0):
        row = np.empty(len(q))
        for j in range(len(q)):
            step = np.zeros(len(q))
            step[j] = width * (SIZE_FLOOR + abs(q[j]))
            ahead, behind = (float(np.ravel(called(contact.gap, t, q + s))[0]) for s in (step, -step))
            row[j] = (ahead - behind) / (2.0 * step[j])
        found.append(row)
    if np.abs(found[0] - found[1]).max() > STRAIGHT * np.abs(found[0]).max():
        return None
    return found[1] + (found[1] - found[0]) / 24.0  # the error falls with the square of the width


def slip_rows(contact: sl.Contact, t: float, q: np.ndarray, nv: int) -> np.ndarray:
    """Derivatives of the slips with respect to v, in which they are affine."""
    still = np.ravel(np.asarray(contact.slip(t, q, np.zeros(nv)), dtype=float))
    columns = [np.ravel(np.asarray(contact.slip(t, q, unit), dtype=float)) - still for unit in np.eye(nv)]
    return np.stack(columns, axis=-1)


SIZE_FLOOR = 1e-3  # of a length: coordinates near zero are moved by MOVED times this


@dataclasses.dataclass
class Observed:
    """What was found at the times: number of the step, and the three numbers (nan: not judged)."""

    steps: np.ndarray
    values: dict[str, np.ndarray]
    rounding: dict[str, np.ndarray]


def observed(sol: sl.Solution, rng: np.random.Generator) -> Observed:
    """Look at a run from outside at random times."""
    system = sol.system
    t = np.sort(rng.uniform(sol.t[0], sol.t[-1], TIMES))
    steps = np.clip(np.searchsorted(sol.t, t) - 1, 0, len(sol.t) - 2)
    h = np.diff(sol.t)[steps]
    away = SHIFT * h
    inside = (t - 2.0 * away > sol.t[steps]) & (t + 2.0 * away < sol.t[steps + 1])
    # steps that stand for many impacts describe no motion inside
    events = sol.events["t"]
    crowded = np.searchsorted(events, sol.t[1:], side="left") > np.searchsorted(events, sol.t[:-1], side="right")
    inside &= ~crowded[steps]
    state = sol(t)
    ahead, behind, far, back = (sol(np.clip(t + s * away, sol.t[0], sol.t[-1])).v for s in (1.0, -1.0, 2.0, -2.0))
    a = (8.0 * (ahead - behind) - (far - back)) / (12.0 * away[:, None])
    forces = np.asarray(sol.force_at(t)).reshape(TIMES, -1)
    fastest, size = np.abs(sol.v).max(axis=0), 1.0 + float(np.abs(sol.q).max())
    names = np.array([name for name, _ in sol.rows])
    made = Observed(steps, {name: np.full(TIMES, np.nan) for name in NAMES}, {})
    made.rounding = {name: np.zeros(TIMES) for name in NAMES}
    carried = float(np.abs(forces).max(initial=0.0))
    load, excess = carried, np.zeros(TIMES)
    for k in range(TIMES):
        q, v = state.q[k], state.v[k]
        M = mass_matrix(system, t[k], q)
        f = np.broadcast_to(np.ravel(np.asarray(called(system.f, t[k], q, v), dtype=float)), v.shape)
        total, worst, known = f.astype(float).copy(), 0.0, True
        for contact, name in zip(system.contacts, system.contact_names, strict=True):
            r = forces[k, names == name]
            g = float(np.ravel(called(contact.gap, t[k], q))[0])
            worst = max(worst, abs(g) if r[0] > CARRIES * carried else -g)
            excess[k] = max(excess[k], -r[0], np.linalg.norm(r[1:]) - contact.mu * r[0] if contact.mu else 0.0)
            W = gradient(contact, t[k], q)
            if W is None:
                known = False
                continue
            lifted = np.linalg.solve(M, W)
            load = max(load, abs(float(lifted @ f) / float(W @ lifted)))
            total += W * r[0]
            if contact.slip is not None:
                total += slip_rows(contact, t[k], q, len(v)).T @ r[1:]
        made.values["violation"][k] = max(worst, 0.0)
        made.rounding["violation"][k] = DIGITS * size
        if known and inside[k]:
            wanted = np.linalg.solve(M, total)
            missed = h[k] * np.abs(a[k] - wanted) / (1.0 + fastest)
            made.values["residual"][k] = missed.max()
            sizes = h[k] * np.abs(np.linalg.solve(M, np.abs(total) + np.abs(total - f))) / (1.0 + fastest)
            made.rounding["residual"][k] = ROUNDING * (1.0 + sizes.max())
    made.values["admissibility"] = excess / load if load > 0.0 else excess
    made.rounding["admissibility"] = np.full(TIMES, ROUNDING)
    return made


def exceeded(sol: sl.Solution, seen: Observed) -> tuple[dict[str, float], list[str]]:
    """Largest values over what was reported (by the run and by the step), and the sentences where they exceed it."""
    found, faults = {}, []
    for name in NAMES:
        reported = getattr(sol, name, None)
        values, rounding = seen.values[name], seen.rounding[name]
        judged = np.isfinite(values)
        if reported is None:
            found[f"{name} not reported"] = 1.0
            reported = np.zeros(len(sol.t) - 1)
        if not judged.any():
            continue
        beyond = np.maximum(values - rounding, 0.0)[judged]
        tiny = np.finfo(float).tiny
        by_step = float((beyond / np.maximum(reported[seen.steps[judged]], tiny)).max())
        by_run = float((beyond / max(float(reported.max(initial=0.0)), tiny)).max())
        found[f"{name} by step"], found[f"{name} by run"] = by_step, by_run
        most = float(values[judged].max())
        if by_run > FACTOR:
            faults.append(f"{name} {most:.1e}, the run reports {reported.max(initial=0.0):.1e}")
        elif by_step > FACTOR:
            faults.append(f"{name} of a step {by_step:.3g} times what it reports, {most:.1e} at most")
    return found, faults


def measured(seed: int, scheme: str, tol: float, name: str) -> Verdict:
    case, _ = draw(name, seed)
    made = Verdict(name, case.structure, seed, scheme, tol)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sl.SlowFunctionWarning)
            sol = sl.solve(
                case.system, case.span, case.q0, case.v0, scheme=scheme_of(scheme, tol), tol=tol, progress=False
            )
    except sl.RunError as error:  # a run that stops and says so certifies nothing
        made.structure += f", stopped: {message_of(error)[:40]}"
        made.found["stopped"] = 1.0
        return made
    made.steps, made.events = sol.work["steps"], len(sol.events)
    made.found, made.faults = exceeded(sol, observed(sol, np.random.default_rng([seed, 31])))
    return made


def described(seed: int, name: str) -> tuple[str, str]:
    return name, draw(name, seed)[0].structure


def main() -> None:
    given = options(__doc__, COUNT, SCHEMES, CLASSES)
    choices = [(name, scheme, tol) for tol in given.tol for scheme in given.scheme for name in given.only]
    jobs = []
    for k in range(given.count):  # the classes in turn, with schemes and tolerances that change along with them
        name = given.only[k % len(given.only)]
        _, scheme, tol = choices[(k * 7) % len(choices)]
        jobs.append(Job("certificate", given.seed + k // len(given.only), scheme, tol, (("name", name),)))
    verdicts = run_jobs(jobs, LIMIT, workers=given.workers)
    for name in NAMES:
        for by in ("step", "run"):
            values = np.array([v.found[f"{name} by {by}"] for v in verdicts if f"{name} by {by}" in v.found])
            missing = sum(f"{name} not reported" in v.found for v in verdicts)
            if len(values):
                kept = int((values <= FACTOR).sum())
                print(
                    f"{name} by {by}: {kept} of {len(values)} runs report it; quantiles of seen over reported 50 %: "
                    f"{np.median(values):.2g}, 90 %: {np.quantile(values, 0.9):.2g}, most {values.max():.2g}"
                    + (f"; {missing} runs report none" if missing else "")
                )
    print(f"{sum('stopped' in v.found for v in verdicts)} of {len(verdicts)} runs stopped and certify nothing")
    finish("certificate", verdicts, given)


if __name__ == "__main__":
    main()
