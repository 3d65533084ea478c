"""Runs of a sweep side by side: an engine that makes them in lanes, and those that lanes cannot make one by one.

Lanes keep what a run ends with and nothing on the way, so there is nothing to reduce. A run that needs two contacts in
one step, starts inside of one, or has numbers that are not finite, is made anew by the loop over runs, from its start.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus.ensemble.engine import Engine, Plan, Reduced, Rows, Tick
from saltus.ensemble.loop import LOOP_TUNED
from saltus.ensemble.moreau_jean_lanes import LANE_STATUS, Grid, made_in_lanes, refused
from saltus.errors import SettingError
from saltus.schemes.moreau_jean import MoreauJean
from saltus.status import Status

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel
    from saltus.ensemble.lane import Lane

STEPS_AT_ONCE = 80_000_000  # of all runs, before Python looks for Ctrl-C: some tenths of a second


@dataclasses.dataclass(frozen=True)
class MoreauJeanLanes:
    """Moreau-Jean for sweeps of small models with equal steps, sixteen runs side by side; they keep their ends only.

    Parameters
    ----------
    theta, gamma, closed_tolerance
        As for `MoreauJean`.
    sine
        "own": sines and cosines as vectors, within one unit of the last place of those of the C library, so that
        last digits differ from `solve(..., scheme=MoreauJean())` where forces have some; "library": those of the C
        library, one run after the other, with the bits of `solve`.
    """

    theta: float = MoreauJean.theta
    gamma: float = MoreauJean.gamma
    closed_tolerance: float = MoreauJean.closed_tolerance
    sine: Literal["own", "library"] = "own"

    def __post_init__(self):
        if self.sine not in ("own", "library"):
            raise SettingError(f"sine of MoreauJeanLanes is {self.sine!r}: it must be 'own' or 'library'")
        _ = self.alone  # which checks its settings

    @property
    def alone(self) -> MoreauJean:
        """The scheme of one run alone."""
        return MoreauJean(theta=self.theta, gamma=self.gamma, closed_tolerance=self.closed_tolerance)


class LaneEngine(Engine):
    """A model whose runs are made in lanes.

    Parameters
    ----------
    model
        The compiled model of the units.
    lanes
        Settings.
    """

    def __init__(self, model: CompiledModel, lanes: MoreauJeanLanes, control: Any, plan: Plan, **options: Any):
        super().__init__(model.units_for(None), lanes.alone, control, plan, keeps=[model], **options)
        why = refused(model, lanes.alone)
        if why:
            raise SettingError(f"{why.partition(':')[0]}: take MoreauJean() in place of MoreauJeanLanes()")
        if self.rules.counted != 1:
            raise SettingError("MoreauJeanLanes makes equal steps: give h, and no tolerance")
        if len(plan.watches) or plan.keep or plan.chain or plan.max_steps is not None or len(plan.breaks):
            raise SettingError(
                "MoreauJeanLanes keeps the ends of runs only: leave measures, section, max_steps and breaks out, or "
                "take MoreauJean()"
            )
        self.model, self.lanes = model, lanes

    def make_runs(self, lane: Lane, rows: Rows, tick: Tick | None = None) -> Reduced:
        """Make all runs of some rows, those with the same grid together."""
        made = Reduced.room(len(rows), self.state, self.plan.width)
        made.starts[:] = rows.starts
        alone = np.zeros(len(rows), dtype=bool)
        done = 0
        grids, which = np.unique(rows.spans[:, :3], axis=0, return_inverse=True)
        for k, (begin, end, h) in enumerate(grids):
            grid, mine = _grid(float(begin), float(end), float(h)), np.flatnonzero(which.reshape(-1) == k)
            size = max(1, STEPS_AT_ONCE // grid.steps)
            for part in np.split(mine, range(size, len(mine), size)):
                alone[part] = self._side_by_side(rows, part, grid, made)
                done += len(part)
                if tick is not None:
                    tick(done - int(np.count_nonzero(alone)))
        if alone.any():
            left = Rows(rows.places, rows.values[alone], rows.starts[alone], rows.spans[alone])
            one_by_one = super().make_runs(lane, left, None)
            for field in dataclasses.fields(Reduced):
                getattr(made, field.name)[alone] = getattr(one_by_one, field.name)
            if tick is not None:
                tick(len(rows))
        return made

    def _side_by_side(self, rows: Rows, part: np.ndarray, grid: Grid, made: Reduced) -> np.ndarray:
        """Make some runs, and return which of them have to be made alone."""
        block, nq = self.block, int(self.units.layout.nq)
        numbers = np.tile(self.base[: block.e_t.stop], (len(part), 1))
        here = rows.places < block.e_t.stop
        numbers[:, rows.places[here]] = rows.values[np.ix_(part, np.flatnonzero(here))]
        q, v = rows.starts[part, :nq], rows.starts[part, nq:]
        given = {"par": numbers[:, block.par], "e": numbers[:, block.e], "mu": numbers[:, block.mu]}
        runs, depth = made_in_lanes(self.model, self.lanes.alone, self.lanes.sine, q, v, grid, **given)
        made.ends[part] = np.column_stack([np.full(len(part), grid.end), runs.q, runs.v])
        made.counts[part, 0], made.status[part] = runs.steps, int(Status.OK)
        return (runs.status != LANE_STATUS.done) | ~(depth <= self.plan.start_tolerance)


def _grid(begin: float, end: float, h: float) -> Grid:
    """Return the grid of a run as the loop over runs counts it."""
    ratio = (end - begin) / h
    entire = int(np.floor(ratio + 0.5))
    steps, size = int(np.ceil(ratio)), h
    if entire >= 1 and abs(ratio - entire) <= LOOP_TUNED.on_grid * entire:
        steps, size = entire, (end - begin) / entire
    size = min(size, end - begin)
    return Grid(begin, end, size, end - (begin + (steps - 1) * size), steps)
