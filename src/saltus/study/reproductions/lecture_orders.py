"""Empirical orders of Moreau-Jean, Schatzman-Paoli and splitting (Acary, Lecture 2, Aussois 2010, first half).

Ball and linear oscillator, errors of the velocity over the grid in L1, L2 and Linf (48), (49) and as the distance of
the filled-in graphs (44) to (47). The lecture draws its figures without numbers: the oscillator is `impact_oscillator`.
"""

from __future__ import annotations

from saltus import problems
from saltus.schemes import MoreauJean, SchatzmanPaoli, Splitting
from saltus.study.convergence import convergence
from saltus.study.measure import ALL_NORMS

from .tabled import Tabled

TITLE = "Empirical orders of time-stepping schemes (Acary, Lecture 2, 2010): v over the grid, mean of several grids"
PROBLEMS = {"ball": problems.zeno_ball, "oscillator": problems.impact_oscillator}
SCHEMES = {
    "Moreau-Jean, θ = 1/2": MoreauJean(),
    "Moreau-Jean, θ = 1": MoreauJean(theta=1.0),
    "Schatzman-Paoli": SchatzmanPaoli(),
    "splitting, RKF45": Splitting("rkf45", contact_forces=False),
}
# largest h [s], levels halved from it, grids on each of them
ORDER_SIZES = {
    "full": {"ball": (0.0025, 5, 12), "oscillator": (0.04, 6, 8)},
    "quick": {"ball": (0.02, 4, 4), "oscillator": (0.04, 4, 4)},
}
PROMISED = {"L1": "1", "L2": "1/2", "Linf": "0", "hausdorff": "1"}


def lecture_orders(*, quick: bool = False, progress: bool | None = None) -> Tabled:
    """Fit the orders of v in four norms, and those of q in L1, through impacts on many grids.

    Parameters
    ----------
    quick
        Fewer and larger step sizes: some seconds instead of a minute.
    progress
        Show a progress bar; None shows one on a terminal when it takes more than a second.
    """
    sizes, tables, found = ORDER_SIZES["quick" if quick else "full"], {}, {}
    for name, make in PROBLEMS.items():
        h, levels, grids = sizes[name]
        table = convergence(
            make(), SCHEMES, h=h, levels=levels, grids=grids, quantities=("q", "v"), norms=ALL_NORMS, where="grid",
            progress=progress,
        )  # fmt: skip
        cells = [["scheme", *(f"v, {norm}" for norm in ALL_NORMS), "q, L1", "q, Linf", "finest v, L1 [m]"]]
        cells.append(["promised", *(PROMISED[norm] for norm in ALL_NORMS), "1", "1", ""])
        for label in SCHEMES:
            orders = [table.order(label, "v", norm) for norm in ALL_NORMS]
            orders += [table.order(label, "q", norm) for norm in ("L1", "Linf")]
            cells.append([label, *(f"{order:.2f}" for order in orders), f"{table.mean(label, 'v')[-1]:.1e}"])
        tables[f"{name}, h = {h:g} to {h / 2 ** (levels - 1):.2g} s"] = cells
        found[name] = table
    return Tabled(TITLE, tables, found, _draw)


def _draw(made: Tabled):
    from .lecture_orders_picture import draw  # here, because it brings matplotlib

    return draw(made)
