"""Bouncing ball in three situations (Schindler, Acary 2014, section 4, Figs. 5-7), with degrees beyond the source."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence

import numpy as np

from saltus import problems
from saltus.errors import SettingError
from saltus.problem import Exact, Problem
from saltus.schemes import MoreauJean, TDGMinus, TDGPlus
from saltus.system import Contact, System

from .experiment import EXACT, Experiment, Reproduction, reproduce

TITLE = "Figures 5-7 of Schindler and Acary (2014): errors of D-, D+ and Moreau-Jean (theta = 1)"
CLASSIC = "MJ"
FIGURE_DEGREE = 12  # degree of the schemes
LAST_LEVELS = 4.0  # [s] of the exponential loads: long enough for steps whose errors are above rounding for degree 6
STRENGTH = 0.01  # [m/s^2] of the exponential loads: velocities of some 10 m/s at their end
# largest h [s], its factor from level to level, levels, grids
MILD = {"full": (0.1, 0.5, 6, 2), "quick": (0.1, 0.5, 4, 1)}  # Figs. 5 and 6
IMPACT_GRIDS = {"full": (0.04, 0.5, 5, 6), "quick": (0.08, 0.5, 4, 6)}  # Fig. 7, where errors scatter
SMOOTH_GRIDS = {
    "full": (0.7, 0.5**0.5, 8, 4),
    "quick": (0.7, 0.5**0.5, 5, 4),
}  # exponential loads: few steps reach rounding


def figures_5_7(
    *, degrees: Sequence[int] = (1, 2, 3, 4, 5, 6), quick: bool = False, progress: bool | None = None
) -> Reproduction:
    """Run Problems 4.2 to 4.4 and two loads whose orders show for every degree.

    Free flight (Fig. 5) and rest phase (Fig. 6) have a load t^2 that degrees from 2 on integrate exactly; the loads
    exp(2 t) beside them do not. The combined experiment (Fig. 7) has impacts that accumulate.

    Parameters
    ----------
    degrees
        Of D- and D+, 1 to 12; the source has 1.
    quick
        Fewer and larger step sizes: some seconds instead of half a minute.
    progress
        Show a progress bar; None shows one on a terminal when an experiment takes more than a second.
    """
    chosen = _checked(degrees)
    schemes = {CLASSIC: MoreauJean(theta=1.0)}
    for degree in chosen:
        schemes |= {f"D{degree}-": TDGMinus(degree), f"D{degree}+": TDGPlus(degree)}
    return reproduce(TITLE, experiments(quick), schemes, _draw, progress)


def experiments(quick: bool = False) -> dict[str, Experiment]:
    """Return the three experiments of the source and the two loads beside them."""
    speed = "quick" if quick else "full"
    mild, impacts, smooth = (_levels(*sizes[speed]) for sizes in (MILD, IMPACT_GRIDS, SMOOTH_GRIDS))
    flight, rest, ball = problems.free_flight(), problems.rest_phase(), problems.zeno_ball()
    resting = problems.rest_phase(load="exponential", strength=STRENGTH, t_end=LAST_LEVELS)
    return {
        "free flight": Experiment("Fig. 5, load t^2", flight, *mild, "dense", _quadratic("q", "v")),
        "rest phase": Experiment("Fig. 6, load t^2", rest, *mild, "dense", _quadratic("impulse")),
        "combined": Experiment("Fig. 7, impacts, then rest", ball, *impacts, "dense", lambda label, quantity: 1.0),
        "exponential flight": Experiment("load exp(2 t)", exponential_flight(), *smooth, "grid", _smooth("q", "v")),
        "exponential rest": Experiment("load exp(2 t)", resting, *smooth, "grid", _smooth("impulse")),
    }


def _levels(h: float, shrink: float, levels: int, grids: int) -> tuple[tuple[float, ...], int]:
    return tuple(h * shrink**k for k in range(levels)), grids


def exponential_flight(*, strength: float = STRENGTH, q0: float = 10.0, t_end: float = LAST_LEVELS) -> Problem:
    """Free flight under the load -strength exp(2 t), which no degree integrates exactly.

    strength [m/s^2], q0 [m], t_end [s].
    """
    system = System(
        M=1.0,
        f=lambda t, q: [-strength * np.exp(2.0 * t)],
        contacts=[Contact(lambda q: q[0], e=0.5, name="floor")],
        name="exponential_flight",
    )
    exact = Exact(
        lambda t: (q0 - strength * (np.expm1(2.0 * np.asarray(t)) / 4.0 - np.asarray(t) / 2.0))[..., None],
        lambda t: (-strength * np.expm1(2.0 * np.asarray(t)) / 2.0)[..., None],
        lambda t: np.zeros_like(t, dtype=float)[..., None],
    )
    return Problem(system, (0.0, t_end), [q0], [0.0], exact=exact, name="exponential_flight")


def clenshaw_curtis_order(label: str) -> float:
    """Return the order of a scheme at the grid points of smooth motions: M + 1 for odd, M + 2 for even degrees M."""
    if label == CLASSIC:
        return 1.0
    degree = int(label[1:-1])
    return degree + 1.0 if degree % 2 else degree + 2.0


def _smooth(*moving: str) -> Callable[[str, str], float]:
    return lambda label, quantity: clenshaw_curtis_order(label) if quantity in moving else EXACT


def _quadratic(*moving: str) -> Callable[[str, str], float]:
    """A load of degree 2 is integrated exactly from degree 2 on."""

    def expected(label: str, quantity: str) -> float:
        if quantity not in moving or label not in (CLASSIC, "D1-", "D1+"):
            return EXACT
        return clenshaw_curtis_order(label)

    return expected


def _checked(degrees: Sequence[int]) -> list[int]:
    listed: list = list(degrees) if np.ndim(degrees) else [degrees]
    for degree in listed:
        if (
            isinstance(degree, bool)
            or not isinstance(degree, numbers.Integral)
            or degree not in range(1, FIGURE_DEGREE + 1)
        ):
            raise SettingError(f"degrees contains {degree!r}: degrees are whole numbers, 1 to {FIGURE_DEGREE}")
    if not listed:
        raise SettingError("degrees is empty: give at least one, 1 to 12")
    return sorted({int(degree) for degree in listed})


def _draw(made: Reproduction):
    from .figures_5_7_picture import draw  # here, because it brings matplotlib

    return draw(made)
