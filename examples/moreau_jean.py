"""Moreau-Jean where the mass depends on the position: which setting is whose formula, and what order it has.

at="theta" is (41) of Acary's lecture, at="both" Algorithm 1.4 of Schindler and Acary, at="end" has M of the end only.
Run it: python examples/moreau_jean.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

PENDULUM = sl.problems.forced_double_pendulum(t_end=2.0)
GRIDS = (50, 100, 200, 400)


def order(at: str) -> float:
    """Return the fitted order of the last state with theta = 1/2."""
    exact = PENDULUM.exact.v(2.0)
    runs = [sl.solve(PENDULUM, scheme=sl.MoreauJean(theta=0.5, at=at), h=2.0 / n) for n in GRIDS]
    errors = [np.abs(run.v[-1] - exact).max() for run in runs]
    return float(-np.polyfit(np.log(GRIDS), np.log(errors), 1)[0])


if __name__ == "__main__":
    for at, low, high in (("theta", 1.9, 2.1), ("both", 1.9, 2.1), ("end", 0.9, 1.4)):
        found = order(at)
        print(f'at="{at}": order {found:.2f}')
        assert low < found < high
