"""What a run says at its end: steps, events, last state, errors, certificate, energy."""

from __future__ import annotations

import numpy as np

from saltus.solution import Solution
from saltus.study import errors

MOST_NUMBERS = 8  # of a vector that is printed whole


def summary(solution: Solution, seconds: float) -> str:
    """Return a few lines about a run that took this long [s]."""
    steps = solution.work["steps"]
    head = (
        f"{solution.name or solution.system.name or 'system'} by {solution.scheme.name}: t = {solution.t[0]:g} to "
        f"{solution.t[-1]:g} s in {steps:,} step{'' if steps == 1 else 's'}, computed in {seconds:.2g} s"
    )
    return "\n".join([head, *(f"  {name:<12} {text}" for name, text in rows_of(solution))])


def rows_of(solution: Solution) -> list[tuple[str, str]]:
    """Return what there is to say of a run: events, last state, errors, certificate, energy, a second run."""
    rows = [
        ("events", _events(solution)),
        *_gains(solution),
        ("q at the end", _vector(solution.q[-1])),
        ("v at the end", _vector(solution.v[-1])),
    ]
    if solution.exact is not None and len(solution.t) > 1:
        rows.append(("errors", _errors(solution)))
    rows += [("certificate", _certificate(solution)), ("energy", _energy(solution)), *_verification(solution)]
    return rows


def _events(solution: Solution) -> str:
    kinds, counts = np.unique(solution.events["kind"], return_counts=True)
    return ", ".join(f"{n} {kind}" for kind, n in zip(kinds, counts, strict=True)) or "none"


def _gains(solution: Solution) -> list[tuple[str, str]]:
    """Return the row about impacts that gained energy, where there are any."""
    gains = solution.events[solution.events["kind"] == "gain"]
    if len(gains) == 0:
        return []
    worst = gains[np.argmax(gains["energy"])]
    many = f"{len(gains)} impact{'' if len(gains) == 1 else 's'}"
    text = f"{many} gained energy, up to {worst['energy']:.3g} J at contact {worst['contact']}: see impact='poisson'"
    return [("warning", text)]


def _vector(values: np.ndarray) -> str:
    if len(values) == 1:
        return f"{values[0]:.6g}"
    shown = [f"{value:.6g}" for value in values[:MOST_NUMBERS]]
    rest = f", ... {len(values) - MOST_NUMBERS} more" if len(values) > MOST_NUMBERS else ""
    return f"[{', '.join(shown)}{rest}]"


def _errors(solution: Solution) -> str:
    """Return the errors against the exact solution; v and i jump, so that their largest error says little."""
    where = "dense" if solution.every_step else "grid"
    position = errors(solution, None, "q", ("L1", "Linf"), where=where)
    parts = [f"q: L1 {position['L1']:.2e}, largest {position['Linf']:.2e}"]
    others = ["v"] if solution.exact is None or solution.exact.impulse is None else ["v", "impulse"]
    for quantity in others:
        parts.append(f"{quantity}: L1 {errors(solution, None, quantity, ('L1',), where=where)['L1']:.2e}")
    return "; ".join(parts)


def _certificate(solution: Solution) -> str:
    parts = solution.residual, solution.violation, solution.admissibility
    residual, violation, outside = (float(np.max(part, initial=0.0)) for part in parts)
    return (
        f"equations solved to {_size(residual)} (relative), largest penetration or joint error {_size(violation)} m, "
        f"contact forces outside of their laws by {_size(outside)} (relative)"
    )


def _verification(solution: Solution) -> list[tuple[str, str]]:
    """Return the rows about a second run, where there was one."""
    if solution.verification is None:
        return []
    first, *others = str(solution.verification).splitlines()
    return [("verified", first), *(("", line) for line in others)]


def _size(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def _energy(solution: Solution) -> str:
    energy = solution.energy
    defect = float(np.max(np.abs(energy.defect)))
    lost = float(energy.dissipation[-1].sum())
    most = float(energy.kinetic.max())
    return f"{lost:.4g} J lost in contacts; defect of the scheme up to {_size(defect)} J (kinetic up to {most:.3g} J)"
