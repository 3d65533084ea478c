"""A file as a user writes it: every public call, with the type that a checker must know of it. Checked, never run."""

from __future__ import annotations

from typing import assert_type

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import saltus as sl
from saltus.results.contact import ContactResult
from saltus.results.events import EventTable
from saltus.results.records import Energy, StateAt
from saltus.results.sample import Samples
from saltus.results.spectrum import Spectrum

floor = sl.Contact(gap=lambda q: q[0], e=0.8, name="floor")
assert_type(floor, sl.Contact)
system = sl.System(M=1.0, f=-9.81, contacts=[floor], coordinates=["height"], units=["m"])
assert_type(system, sl.System)
problem = sl.Problem(system, (0.0, 3.0), q0=1.0, v0=0.0, name="ball")
assert_type(problem, sl.Problem)
assert_type(sl.problems.zeno_ball(e=0.8), sl.Problem)
assert_type(sl.problems.slider_crank_bodies(), sl.Problem)

sol = sl.solve(system, t_span=(0.0, 3.0), q0=1.0, v0=[0.0], tol=1e-8, breaks=None)
assert_type(sol, sl.Solution)
assert_type(sl.solve(problem, scheme=sl.MoreauJean(theta=0.5), h=1e-3), sl.Solution)
for scheme in (
    sl.AnyOrder(), sl.EventDriven(), sl.Extrapolated(sl.MoreauJean()), sl.GeneralizedAlpha(), sl.HalfExplicitTDG(),
    sl.HpTDG(), sl.MoreauJean(), sl.PaoliVelocity(), sl.SchatzmanPaoli(), sl.Splitting(), sl.TDGMinus(1), sl.TDGPlus(1),
):  # fmt: skip
    sl.solve(problem, scheme=scheme, h=1e-3)
sl.solve(problem, scheme=sl.StepDoubling(sl.MoreauJean()), tol=1e-4)
sl.solve(problem, scheme=sl.MoreauJean(), tol=1e-4, control=sl.control.Richardson(order=1))
sl.solve(problem, scheme="MoreauJean")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
sl.solve(problem, scheme=sl.MoreauJean)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
assert_type(sl.resume("run.ckpt", problem), sl.Solution)
assert_type(sl.load("run.h5"), sl.Solution)

assert_type(sol.t, np.ndarray)
assert_type(sol.events, EventTable)
assert_type(sol.events.of("impact"), EventTable)
assert_type(sol(0.5), StateAt)
assert_type(sol(0.5, side="-").v, np.ndarray)
assert_type(sol.energy, Energy)
assert_type(sol.success, bool)
assert_type(sol.status, sl.Status)
assert_type(sol.residual, np.ndarray)
assert_type(sol.impulse_at([0.1, 0.2]), np.ndarray)
assert_type(sol.force_at(0.1), np.ndarray)
assert_type(sol.gap_at(np.linspace(0.0, 1.0)), np.ndarray)
assert_type(sol.contact("floor"), ContactResult)
assert_type(sol.sample(0.01), Samples)
assert_type(sol.spectrum("height_dot"), Spectrum)
assert_type(sol.verify(), sl.Verification)
assert_type(sol.plot(panels="unit", time="event", width="one column"), Figure)
assert_type(sol.plot_steps(path="steps.pdf"), Figure)
sol.plot(panels="colour")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
assert_type(sol.save("run.h5"), None)

assert_type(sl.plot.phase(sol, "height"), Axes)
assert_type(sl.plot.gantt(sol, time="event"), Axes)
assert_type(sl.plot.energy(sol), tuple[Axes, ...])
assert_type(sl.plot.impact_map(sol, "floor"), Axes)
assert_type(sl.plot.section(sol, event="impact"), Axes)
assert_type(sl.plot.spectrum(sol, "height"), Axes)
assert_type(sl.plot.friction_cone(sol, "floor"), Axes)
assert_type(sl.plot.strobe(sol), Axes)

assert_type(sl.study.convergence(problem, sl.MoreauJean(), h=1e-2), sl.study.Convergence)
assert_type(sl.Event(lambda t, q, v: q[0], name="zero"), sl.Event)
assert_type(sl.mechanics.Planar(), sl.mechanics.Planar)
try:
    sl.solve(problem)
except sl.RunError as error:
    assert_type(error.solution, sl.Solution | None)
