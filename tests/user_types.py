"""A file as a user writes it: every public call, with the type that a checker must know of it. Checked, never run."""

from __future__ import annotations

from typing import assert_type

import numpy as np
import xarray
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import saltus as sl
from saltus import mechanics, sweep, view
from saltus.build.continuity import Continuity
from saltus.mechanics.mechanism import PlanarJoint
from saltus.results.body import BodyResult
from saltus.results.contact import ContactResult
from saltus.results.events import EventTable
from saltus.results.instants import EnergyAt
from saltus.results.joint import JointResult
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
try:
    sl.solve(problem)
except sl.RunError as error:
    assert_type(error.solution, sl.Solution | None)

# ---- everything else of a solution

assert_type(sol.q, np.ndarray)
assert_type(sol.v_minus, np.ndarray)
assert_type(sol.impulse, np.ndarray)
assert_type(sol.joint_impulse, np.ndarray)
assert_type(sol.gaps(), np.ndarray)
assert_type(sol.violation, np.ndarray)
assert_type(sol.end_violation, np.ndarray)
assert_type(sol.contact_residual, np.ndarray)
assert_type(sol.admissibility, np.ndarray)
assert_type(sol.step_degree, np.ndarray)
assert_type(sol.step_error, np.ndarray)
assert_type(sol.step_rejections, np.ndarray)
assert_type(sol.windows, np.ndarray)
assert_type(sol.every_step, bool)
assert_type(sol.can_refine, bool)
assert_type(sol.event_names, tuple[str, ...])
assert_type(sol.parameters, dict[str, float | np.ndarray])
assert_type(sol.joint_force_at(0.1, side="-"), np.ndarray)
assert_type(sol.energy_at([0.1, 0.2]), EnergyAt)
assert_type(sol.at_times(np.linspace(0.0, 1.0, 5)), sl.Solution)
assert_type(sol.body("arm"), BodyResult)
assert_type(sol.joint("rod"), JointResult)
assert_type(sol.strobe([0.0, 0.1], path="strobe.pdf"), Figure)
assert_type(sol.to_xarray(), xarray.Dataset)
assert_type(sol.verification, sl.Verification | None)
assert_type(sol.contact_problem(3), sl.ContactProblem)
checked = sl.solve(problem, verify=True, events=sl.Event(lambda q: q[0] - 0.1, terminal=True)).verify()
assert_type(checked.kept, bool)
assert_type(checked.sentence, str)
assert_type(checked.plot(path="verified.pdf"), Figure)
assert_type(problem.diagnose(t=0.0), Continuity)
exact = sl.Exact(lambda t: 1.0 - t, lambda t: -1.0, jumps=[0.5])
assert_type(sl.Problem(system, (0.0, 1.0), 1.0, 0.0, exact=exact).exact, sl.Exact | None)

# ---- seeing a run

s = view.Sketch()
mass = s.box(0.3, 0.3, at=(s.q[0] + 0.15, 0.0), name="mass")
s.spring(mass.at(0.15, 0.0), (2.0, view.wave(0.1, 3.0).constant))
s.ground((-0.5, -0.4), (-0.5, 0.4))
s.contact("floor", mass.at(-0.15, 0.0), normal=(1.0, 0.0))
rod = s.bar(0.3, at=mass.end, angle=s.q[0])
s.circle(0.1, at=rod.start)
s.polygon([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
s.point(at=(s.q[0], 0.0))
s.ring(1.0, hollow=False)
space = view.Sketch(3)
space.solid("box", (0.2, 0.1, 0.05), at=(space.q[0], 0.0, 0.0), turn=3)
space.floor(-1.0)
page = sol.view("run.html", scene=s, accuracy=1e-5, limits=(1e-8, 1e-8, 1e-8), title="mine")
assert_type(page, view.View)
assert_type(page.html, str)
page.save("run.mp4", seconds=10.0, rate=25.0, width=1280, height=720, span=(0.0, 0.1), event_time=0.5, dark=True)
page.save("run.mp4", second=10.0)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
assert_type(page.content.bound, float)

# ---- mechanisms

w = mechanics.Planar(gravity=9.81, name="mine")
crank = w.bar(0.1, mass=1.0, name="crank", angle=0.3)
assert_type(crank, mechanics.Body)
assert_type(crank.end, mechanics.Anchor)
assert_type(crank.at(0.0, 0.01), mechanics.Anchor)
assert_type(crank.point("pin", 0.0, 0.01), mechanics.Anchor)
block = w.body(mechanics.Box(0.05, 0.04), mass=0.5, name="block", at=(0.3, 0.0))
wheel = w.body(mechanics.Circle(0.02), density=7800.0)
w.body([mechanics.Bar(0.1, 0.01, mass=0.1), mechanics.Polygon(((0.0, 0.0), (0.1, 0.0), (0.0, 0.1)), mass=0.1)])
cam = w.body(mechanics.Cam(mechanics.DwellLift(0.01, (1.0, 2.0), (3.0, 4.0)), 0.02, mass=0.2))
joint = w.revolute(w.ground, crank.start, clearance=1e-4, radius=0.01, e=0.3, mu=0.1)
assert_type(joint, PlanarJoint)
assert_type(w.guide(block, axis="x"), PlanarJoint)
assert_type(w.prismatic(w.ground, block.centre, axis="x"), PlanarJoint)
assert_type(w.slot(crank.end, block.centre), PlanarJoint)
assert_type(w.distance(crank.end, block.centre, length=0.3), PlanarJoint)
assert_type(w.coupling(crank, wheel, ratio=2.0), PlanarJoint)
assert_type(w.fixed(crank.end, wheel.centre), PlanarJoint)
assert_type(w.drive(crank, speed=mechanics.ramp(0.0, 100.0, 0.1)), PlanarJoint)
assert_type(w.gear(crank, wheel, teeth=(20, 30), module=2e-3, backlash=1e-4), tuple[str, str])
assert_type(w.spring(crank.end, w.ground, k=100.0, length=0.1), str)
assert_type(w.torsion_spring(crank, w.ground, k=1.0), str)
assert_type(w.damper(crank.end, w.ground, c=1.0), str)
assert_type(w.bushing(crank, block, k=1e3), str)
assert_type(w.coil_spring(block, w.ground, k=1e3, length=0.1, mass=0.01, masses=3), list[mechanics.Body])
assert_type(w.contact(cam, mechanics.Plane(), e=0.2), tuple[str, ...])
assert_type(w.stop(w.ground, block.centre, normal="x"), str)
assert_type(w.force(lambda t, q, v: [0.0, 0.0, 1.0], crank), str)
assert_type(w.load(block, (0.0, -1.0)), str)
assert_type(w.motor(crank, torque=1.0), str)
w.material("steel", "brass", e=0.4, mu=0.1)
w.start(crank, angle=0.0, speed=100.0)
assert_type(w.assemble(), mechanics.Assembly)
assert_type(w.problem((0.0, 0.1)), sl.Problem)
assert_type(w.system(), sl.System)
assert_type(w.scene, mechanics.Scene)
assert_type(w.equilibrium(), mechanics.Equilibrium)
assert_type(w.modes(), mechanics.Modes)
assert_type(mechanics.equilibrium(problem), mechanics.Equilibrium)
assert_type(mechanics.modes(problem, stick=False), mechanics.Modes)
assert_type(mechanics.Lagrangian(lambda q, v: v[0] ** 2, lambda q: q[0], n=1), sl.System)

# ---- many of a kind

bodies = sl.BodyFamily("ball", 1, 1, lambda p: [[p[0]]], force=lambda t, q, v, p: [-9.81], p=[[1.0], [2.0]])
floors = sl.ContactFamily("floor", lambda t, q, p: q[0], bodies=[0, 1], e=0.5)
pulls = sl.ForceFamily("pull", lambda t, q, v, p: [0.0], bodies=[0])
rods = sl.JointFamily("rod", lambda t, q, p: q[0], bodies=[0])
assert_type(sl.System(bodies=[bodies], contacts=[floors], forces=[pulls], joints=[rods]), sl.System)
rail = sl.Joint(lambda q: q[0], name="rail")
assert_type(rail, sl.Joint)

# ---- many runs

p = sl.Parameters(w=2.6, e=0.8)
assert_type(dict(p.items()), dict[str, float | np.ndarray])
strobe = sweep.Strobe(lambda: 2.0 * np.pi / 2.6)
diagram = sweep.bifurcation(system, 1.0, 0.0, section=strobe, direction="both", executor=sweep.Threads(2), w=[2.0, 3.0])
assert_type(diagram, sweep.Bifurcation)
assert_type(diagram.plot("v0"), Axes)
sweep.bifurcation(system, 1.0, 0.0, section=strobe, direction="sideways", w=[2.0])  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
measures = [
    sweep.ImpactStatistics("floor"), sweep.FirstPassage("floor"), sweep.Extremes(0), sweep.Period(), sweep.Worst(),
    sweep.Reduce(lambda t, q, v, memory: memory + q[0], 0.0), sweep.Impacts("floor"), sweep.Events("zero"),
]  # fmt: skip
chart = sweep.grid(system, 1.0, 0.0, t_span=(0.0, 1.0), measures=measures, scheme=sl.MoreauJean(), h=1e-3, w=[2.0, 3.0])
sweep.grid(system, 1.0, 0.0, t_span=(0.0, 1.0), scheme=sweep.MoreauJeanLanes(sine="library"), h=1e-3, w=[2.0, 3.0])
sweep.grid(system, scheme="MoreauJean", w=[2.0])  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
assert_type(chart, sweep.Grid)
assert_type(chart.dataset, xarray.Dataset)
assert_type(chart.to_xarray(), xarray.Dataset)
assert_type(chart.failed, np.ndarray)
assert_type(chart.status, np.ndarray)
assert_type(chart.why(0), str)
assert_type(chart.solve(0), sl.Solution)
assert_type(chart.plot("floor_impacts"), Axes)
everything: list[sweep.Sweep] = [diagram, chart]
for executor in (sweep.Serial(), sweep.Threads(), sweep.Processes(2, patience=60.0), sweep.Dask("tcp://host:8786")):
    scatter = sweep.monte_carlo(
        sl.problems.forced_impact_oscillator, [sweep.Uniform(-0.6, -0.4)], [0.0], e=sweep.Normal(0.8, 0.02, high=1.0),
        omega=sweep.Triangular(2.0, 2.5, 3.0), runs=50, seed=7, executor=executor, store="runs",
        measures=sweep.ImpactStatistics(), progress=False,
    )  # fmt: skip
    assert_type(scatter, sweep.MonteCarlo)
    assert_type(scatter.plot("e", "impacts"), Axes)
sweep.monte_carlo(system, runs=3, w=sweep.LogNormal(1.0, 0.1), e=sweep.Choice(0.7, 0.8))
spectrum = sweep.lyapunov(problem, span=100.0, scheme=sl.HpTDG())
assert_type(spectrum, sweep.Lyapunov)
assert_type(spectrum.exponents, np.ndarray)
assert_type(spectrum.sum_per_impact, float)
assert_type(spectrum.consistent, bool)
assert_type(spectrum.plot(), Axes)
assert_type(spectrum.to_xarray(), xarray.Dataset)
assert_type(spectrum.dataset, xarray.Dataset)
try:
    orbit = sweep.periodic_orbit(system, period=2.4, start=sol)
    assert_type(orbit, sweep.PeriodicOrbit)
    assert_type(orbit.multipliers, np.ndarray)
    assert_type(orbit.stable, bool)
    assert_type(orbit.impacts, int)
    assert_type(orbit.rests, int)
    assert_type(orbit.signature, tuple[tuple[str, str], ...])
    assert_type(orbit.derivative("w"), np.ndarray)
    assert_type(orbit.at(w=2.7), sweep.PeriodicOrbit)
    assert_type(orbit.find("period doubling", w=(2.6, 2.7)), sweep.PeriodicOrbit)
    assert_type(orbit.plot(), Axes)
    assert_type(orbit.plot_multipliers(), Axes)
    assert_type(orbit.dataset, xarray.Dataset)
except sweep.OrbitError as lost:
    assert_type(lost.solution, sl.Solution | None)
answer = sweep.sensitivity(
    problem, of=[sweep.EndState(), sweep.ImpactTime("floor", 2), sweep.Impulse("floor"), sweep.Extreme(0, "smallest")],
    by=["w"],
)  # fmt: skip
assert_type(answer, sweep.Sensitivity)
assert_type(answer.plot(), Axes)
assert_type(answer.to_xarray(), xarray.Dataset)
assert_type(answer.dataset, xarray.Dataset)

# ---- contact problems, controls, studies

contact = sl.ContactProblem([[1.0]], [-1.0])
assert_type(contact.D(), np.ndarray)
for solver in (
    sl.NSGS(), sl.Lemke(), sl.contact.ADMM(), sl.contact.ColouredNSGS(), sl.contact.ConicFixedPoint(),
    sl.contact.Direct(), sl.contact.Homotopy(), sl.contact.Portfolio(), sl.contact.SemismoothNewton(),
):  # fmt: skip
    assert_type(solver.solve(contact), sl.contact.ContactResult)
found = sl.contact.Portfolio().solve(contact)
assert_type(found.P, np.ndarray)
assert_type(contact.residual(found.P), float)
assert_type(sl.contact.diagnose(contact), sl.contact.Diagnosis)
sl.contact.minimum_norm(contact, found)
sl.contact.uniqueness(contact, found)
stored = sl.contact.read_fclib("problem.hdf5")
sl.contact.write_fclib(contact, "again.hdf5")
for control in (sl.control.Adaptive(), sl.control.Fixed(), sl.control.Richardson(order=1), sl.control.VariableOrder()):
    sl.solve(problem, scheme=sl.MoreauJean(), tol=1e-4, control=control)
assert_type(sl.study.error(sol), float)
assert_type(sl.study.errors(sol), dict[str, float])
assert_type(sl.study.hausdorff(sol), float)
assert_type(sl.study.work_precision(problem, [sl.HpTDG()]), sl.study.WorkPrecision)
assert_type(sl.study.local_error(problem, sl.MoreauJean(), t=0.1, h=0.1), sl.study.LocalError)
assert_type(sl.study.figures_5_7(quick=True), sl.study.Reproduction)

# ---- errors

try:
    sl.solve(problem)
except (sl.ChatteringError, sl.LimitError) as spent:
    assert_type(spent.solution, sl.Solution | None)
except (sl.FunctionError, sl.ModelError, sl.SettingError, sl.MissingExtraError):
    pass
except (sl.DamagedFileError, sl.FileFormatError, sl.FileError) as broken:
    assert_type(str(broken), str)
except sl.SaltusError as any_error:
    assert_type(str(any_error), str)
warned: list[type[Warning]] = [sl.CheckpointWarning, sl.SlowFunctionWarning]
assert_type(sl.errors.RunError("stopped").solution, sl.Solution | None)
assert_type(sl.schemes.HpTDG().name, str)
