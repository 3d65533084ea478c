"""Wrong models, arguments and functions: each has its own sentence, and no run is lost when a step fails."""

from __future__ import annotations

import traceback

import numpy as np
import pytest
from scipy import sparse

import saltus as sl

H = 1.0 / 64.0  # a step that no sum can round


def floor(**options) -> sl.Contact:
    return sl.Contact(**{"gap": lambda q: q[0], "e": 0.8, "name": "floor", **options})


def ball(**options) -> sl.System:
    """One degree of freedom over a floor."""
    return sl.System(**{"M": 1.0, "f": -9.81, "contacts": [floor()], **options})


def plane(**options) -> sl.System:
    """A point in a plane, free of forces."""
    return sl.System(**{"M": np.eye(2), "f": np.zeros(2), **options})


def run(system=None, **options) -> sl.Solution:
    size = 2 if system is not None and np.size(system.M) == 4 else 1
    start = {"q0": np.ones(size), "v0": np.zeros(size)}
    settings = {"t_span": (0.0, 1.0), "scheme": sl.MoreauJean(), "h": H, **start, **options}
    return sl.solve(ball() if system is None else system, **settings)


def refuse(case, error, match) -> None:
    with pytest.raises(error, match=match) as caught:
        case()
    assert ")at" not in str(caught.value), "words are separated"


# ---- shapes

SHAPES = {
    "M too large": (
        lambda: run(plane(M=np.eye(3)), q0=[1, 1], v0=[0, 0]),
        r"M has shape \(3, 3\), expected \(2, 2\)",
    ),
    "M vector too long": (
        lambda: run(plane(M=np.ones(3)), q0=[1, 1], v0=[0, 0]),
        r"M has shape \(3,\).*v0 has 2",
    ),
    "M function": (
        lambda: run(plane(M=lambda q: np.eye(3)), q0=[1, 1], v0=[0, 0]),
        r"M returned shape \(3, 3\), expected \(2, 2\) at t = 0, q = \[1\. 1\.\]",
    ),
    "f vector": (lambda: run(plane(f=np.zeros(3))), r"f has shape \(3,\), expected \(2,\) because v0 has 2"),
    "f number": (lambda: run(plane(f=-9.81)), r"f is the number -9\.81, but v0 has 2 entries: give a vector"),
    "f function": (
        lambda: run(plane(f=lambda q: q[:1])),
        r"f returned shape \(1,\), expected \(2,\) at t = 0",
    ),
    "f ragged": (
        lambda: run(plane(f=lambda q: [[1.0], [1.0, 2.0]])),
        r"f returned \[\[1\.0\].*not an array of numbers",
    ),
    "M words": (lambda: run(ball(M="1.0")), r"M must be numbers or a function, not '1.0'"),
    "f list of words": (lambda: run(plane(f=["1", "2"])), r"f must be numbers or a function, not \['1', '2'\]"),
    "f words": (lambda: run(plane(f="down")), r"f must be numbers or a function, not 'down'"),
    "f returns words": (
        lambda: run(plane(f=lambda q: "down")),
        r"f returned 'down'.*not an array of numbers",
    ),
    "f complex": (lambda: run(plane(f=lambda q: np.array([1j, 0.0]))), r"f returned complex.*real"),
    "q0 matrix": (lambda: run(q0=[[1.0]]), r"q0 must be a vector, but has shape \(1, 1\)"),
    "q0 words": (lambda: run(q0="one"), r"q0 must be numbers, not 'one'"),
    "q0 nan": (lambda: run(q0=np.nan), r"q0\[0\] = nan is not finite"),
    "q0 empty": (lambda: run(q0=[]), r"q0 .*empty|q0 must be a vector"),
    "v0 infinite": (lambda: run(plane(), v0=[0.0, np.inf]), r"v0\[1\] = inf is not finite"),
    "v0 too long": (lambda: run(v0=[0.0, 0.0]), r"q0 has 1 entr\w+ and v0 has 2.*q_dot"),
    "nq differs from nv": (lambda: run(plane(), q0=[1, 1, 1]), r"q0 has 3 entries and v0 has 2.*give q_dot"),
    "gap vector": (
        lambda: run(ball(contacts=[floor(gap=lambda q: [q[0], q[0]])])),
        r"gap of contact 'floor' returned shape \(2,\), expected \(\) at t = 0",
    ),
    "slip of three": (
        lambda: run(plane(contacts=[floor(mu=0.1, slip=lambda t, q, v: [v[0], v[1], v[0]])])),
        r"slip of contact 'floor' returned shape \(3,\), expected \(1,\) or \(2,\) at t = 0",
    ),
    "W too short": (
        lambda: run(plane(contacts=[floor(W=lambda q: [1.0])])),
        r"W of contact 'floor' returned shape \(1,\), expected \(2,\) at t = 0",
    ),
    "K matrix": (lambda: run(plane(K=np.eye(3))), r"K has shape \(3, 3\), expected \(2, 2\)"),
    "K cube": (lambda: run(plane(K=np.zeros((2, 2, 2)))), r"K has shape \(2, 2, 2\), expected \(2, 2\)"),
    "C vector": (lambda: run(plane(C=np.ones(3))), r"C has shape \(3,\), expected .*2"),
    "K words": (lambda: run(plane(K="stiff")), r"K must be numbers.*'stiff'"),
    "K function": (lambda: run(plane(K=lambda q: np.eye(2))), r"K must be numbers.*into f"),
    "K not finite": (
        lambda: run(plane(K=sparse.csr_array(np.diag([1.0, np.nan])))),
        r"K contains a number that is not finite",
    ),
    "M not finite": (lambda: run(plane(M=np.diag([1.0, np.inf]))), r"M contains a number that is not finite"),
    "q_dot": (
        lambda: run(ball(q_dot=lambda q, v: [v[0], v[0]])),
        r"q_dot returned shape \(2,\), expected \(1,\) at",
    ),
    "retract": (
        lambda: run(ball(retract=lambda q: [q[0], q[0]])),
        r"retract returned shape \(2,\), expected \(1,\) at",
    ),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", SHAPES)
def test_a_wrong_shape_names_the_thing_and_the_shape(name):
    case, match = SHAPES[name]
    refuse(case, sl.ModelError, match)


# ---- mechanics that cannot be

ROD = sl.Joint(lambda q: q[0] ** 2 + q[1] ** 2 - 1.0, name="rod")
MECHANICS = {
    "M indefinite": (
        lambda: run(plane(M=[[1.0, 2.0], [2.0, 1.0]])),
        r"M is not positive definite at q0.*eigenvalue is -1",
    ),
    "M zero": (lambda: run(ball(M=0.0)), r"M is not positive definite at q0.*eigenvalue is 0"),
    "M singular": (lambda: run(plane(M=[[1.0, 1.0], [1.0, 1.0]])), r"M is not positive definite at q0"),
    "M of q indefinite": (
        lambda: run(ball(M=lambda q: -q[0])),
        r"M is not positive definite at q0.*eigenvalue is -1",
    ),
    "M unsymmetric": (
        lambda: run(plane(M=[[1.0, 0.5], [0.0, 1.0]])),
        r"M is not symmetric: M\[0, 1\] = 0\.5.* 0\.0",
    ),
    "e negative": (lambda: floor(e=-0.1), r"e of contact 'floor' is -0\.1.*between 0 and 1"),
    "e above one": (lambda: floor(e=1.1), r"e of contact 'floor' is 1\.1.*between 0 and 1"),
    "e not a number": (lambda: floor(e=np.nan), r"e of contact 'floor' must be a finite number, not nan"),
    "e words": (lambda: floor(e="soft"), r"e of contact 'floor' must be a finite number, not 'soft'"),
    "mu negative": (lambda: floor(mu=-0.1), r"mu of contact 'floor' is -0\.1.*not negative"),
    "mu infinite": (lambda: floor(mu=np.inf), r"mu of contact 'floor' must be a finite number, not inf"),
    "mu without slip": (lambda: floor(mu=0.3), r"mu of contact 'floor' is 0\.3.*no slip.*give slip="),
    "mu of a nameless contact": (lambda: sl.Contact(lambda q: q[0], mu=0.3), r"mu of a contact is 0\.3"),
    "slip not affine": (
        lambda: run(plane(contacts=[floor(mu=0.3, slip=lambda t, q, v: v[1] ** 2)])),
        r"slip of contact 'floor' is not affine in v",
    ),
    "slip without v": (
        lambda: run(plane(contacts=[floor(mu=0.3, slip=lambda t, q, v: q[1])])),
        r"slip of contact 'floor' does not depend on v",
    ),
    "slip of (q, v)": (
        lambda: run(plane(contacts=[floor(mu=0.3, slip=lambda q, v: v[1])])),
        r"slip of contact 'floor' .*\(t, q, v\)",
    ),
    "q_dot not linear": (lambda: run(ball(q_dot=lambda q, v: v**2)), r"q_dot.* linear in v"),
    "q_dot affine": (lambda: run(ball(q_dot=lambda q, v: v + 1.0)), r"q_dot.* linear in v"),
    "gap a number": (
        lambda: sl.Contact(0.5, name="floor"),
        r"gap of contact 'floor' must be a function.*not 0\.5",
    ),
    "gap constant": (
        lambda: run(ball(contacts=[floor(gap=lambda q: 1.0)])),
        r"gap of contact 'floor' does not depend on q: nothing can close it",
    ),
    "gap of t alone": (
        lambda: run(ball(contacts=[floor(gap=lambda t, q: 1.0 + t)])),
        r"gap of contact 'floor' does not depend on q",
    ),
    "W wrong": (
        lambda: run(plane(contacts=[floor(W=lambda q: [0.0, 1.0])])),
        r"W of contact 'floor' is \[0\. 1\.\], but differences of its gap give \[1\. 0\.\].*leave it out",
    ),
    "W wrong elsewhere": (
        lambda: run(plane(contacts=[floor(gap=lambda q: q[0] ** 2, W=lambda q: [2.0, 0.0])])),
        r"W of contact 'floor' is \[2\. 0\.\].*leave it out",
    ),
    "W not a function": (
        lambda: run(plane(contacts=[floor(W=[0.0, 1.0])])),
        r"W of contact 'floor' must be a function",
    ),
    "slip not a function": (
        lambda: run(plane(contacts=[floor(mu=0.1, slip=3.0)])),
        r"slip of contact 'floor' must be a function",
    ),
    "q_dot not a function": (lambda: run(ball(q_dot=1.0)), r"q_dot must be a function"),
    "retract not a function": (lambda: run(ball(retract=1.0)), r"retract must be a function"),
    "penetration": (
        lambda: run(q0=-0.1),
        r"q0 violates contact 'floor': g = -1\.000e-01 < 0 at t = 0; move q0",
    ),
    "joint position": (
        lambda: run(plane(joints=[ROD]), q0=[1.0, 0.5], v0=[0, 0]),
        r"q0 violates joint 'rod': constraint = 2\.500e-01 at t = 0",
    ),
    "joint velocity": (
        lambda: run(plane(joints=[ROD]), q0=[1.0, 0.0], v0=[1.0, 0.0]),
        r"v0 violates joint 'rod': it moves at 2\.000e\+00 at t = 0.*choose v0 along",
    ),
    "joint a number": (
        lambda: sl.Joint(3.0, name="rod"),
        r"constraint of joint 'rod' must be a function.*not 3\.0",
    ),
    "joint constant": (
        lambda: run(plane(joints=[sl.Joint(lambda q: 0.0, name="rod")])),
        r"constraint of joint 'rod' does not depend on q",
    ),
    "joints contradict in velocity": (
        lambda: run(
            plane(joints=[sl.Joint(lambda q: q[0] - 1, name="a"), sl.Joint(lambda t, q: q[0] - 1 - t, name="b")])
        ),
        r"joints 'a', 'b' contradict each other: no velocity",
    ),
    "joints contradict in position": (
        lambda: run(plane(joints=[sl.Joint(lambda q: q[0] - 1, name="a"), sl.Joint(lambda q: q[0] - 2, name="b")])),
        r"q0 violates joint 'b': constraint = -1\.000e\+00",
    ),
    "K beside q_dot": (lambda: run(ball(K=1.0, q_dot=lambda q, v: v)), r"K needs q_dot = v.*into f"),
    "name not text": (lambda: floor(name=7), r"name of a contact must be text, not 7"),
    "two names": (
        lambda: ball(contacts=[floor(), floor()]),
        r"two contacts or joints are called 'floor'.*differ",
    ),
    "contact and joint": (
        lambda: ball(joints=[sl.Joint(lambda q: q[0], name="floor")]),
        r"two contacts or joints are called 'floor'",
    ),
    "no contact objects": (
        lambda: ball(contacts=[lambda q: q[0]]),
        r"contacts must be a list of Contact.*function",
    ),
    "contacts None": (lambda: ball(contacts=None), r"contacts must be a list of Contact, not None"),
    "contacts a function": (lambda: ball(contacts=lambda q: q[0]), r"contacts must be a list of Contact"),
    "f without arguments": (
        lambda: run(ball(f=lambda: 1.0)),
        r"f takes 0 arguments: it must take \(q\), \(t, q\)",
    ),
    "f of four": (lambda: run(ball(f=lambda a, b, c, d: 1.0)), r"f takes 4 arguments: it must take"),
    "gap of three": (
        lambda: run(ball(contacts=[floor(gap=lambda t, q, v: q[0])])),
        r"gap of contact 'floor' takes 3 arguments: it must take \(q\) or \(t, q\)",
    ),
    "M of three": (
        lambda: run(ball(M=lambda t, q, v: 1.0)),
        r"M takes 3 arguments: it must take \(q\) or \(t, q\)",
    ),
    "q_dot of three": (
        lambda: run(ball(q_dot=lambda t, q, v: v)),
        r"q_dot takes 3 arguments: it must take \(q, v\)",
    ),
    "f without signature": (lambda: run(ball(f=max)), r"f has no readable signature: wrap it in lambda"),
    "f without return": (lambda: run(ball(f=lambda t, q, v: None)), r"f returned None.*return statement"),
    "q0 missing": (lambda: run(q0=None), r"q0 is missing: give"),
    "v0 missing": (lambda: run(v0=None), r"v0 is missing: give"),
    "span empty": (
        lambda: run(t_span=(1.0, 1.0)),
        r"t_span = \(1\.0, 1\.0\) is empty: the end must lie after",
    ),
    "span backwards": (lambda: run(t_span=(1.0, 0.0)), r"t_span = \(1\.0, 0\.0\) .*the end must lie after"),
    "span of one": (lambda: run(t_span=(1.0,)), r"t_span must be two times \(start, end\), not \(1\.0,\)"),
    "span a number": (lambda: run(t_span=5.0), r"t_span must be two times \(start, end\), not 5\.0"),
    "span not finite": (lambda: run(t_span=(0.0, np.nan)), r"t_span = \(0\.0, nan\) is not finite"),
}


@pytest.mark.parametrize("name", MECHANICS)
def test_impossible_mechanics_are_refused_with_name_and_value(name):
    case, match = MECHANICS[name]
    refuse(case, sl.ModelError, match)


# ---- arguments

FRICTION = {"mu": 0.3, "slip": lambda t, q, v: v[1]}
SETTINGS = {
    "no system": (
        lambda: sl.solve(abs, (0, 1), 1.0, 0.0),
        r"solve takes a System, a Problem or a Planar first, not <built-in",
    ),
    "t_span missing": (lambda: run(t_span=None), r"t_span is missing: give \(start, end\)"),
    "scheme a class": (lambda: run(scheme=sl.MoreauJean), r"scheme is .*MoreauJean\(\) with brackets"),
    "scheme words": (lambda: run(scheme="moreau"), r"scheme is 'moreau'.*such as MoreauJean\(\)"),
    "h missing": (lambda: run(h=None), r"h is missing: Moreau-Jean needs a step size"),
    "trait of its own": (
        lambda: run(scheme=type("Mine", (), {"plan": None, "adaptive": True})()),
        r"adaptive of Mine is not read: give it traits = Traits\(adaptive=True\)",
    ),
    "traits of another kind": (
        lambda: run(scheme=type("Mine", (), {"plan": None, "traits": {"adaptive": True}})()),
        r"traits of Mine is .*it must be Traits\(...\)",
    ),
    "h zero": (lambda: run(h=0.0), r"h is 0\.0.*positive"),
    "h negative": (lambda: run(h=-0.1), r"h is -0\.1.*positive"),
    "h nan": (lambda: run(h=np.nan), r"h is nan.*positive"),
    "h infinite": (lambda: run(h=np.inf), r"h is inf"),
    "h words": (lambda: run(h="small"), r"h is 'small'.*positive number"),
    "h truth": (lambda: run(h=True), r"h is True.*positive number"),
    "h beyond the span": (lambda: run(h=2.0), r"h is 2\.0, larger than the span of 1\.0 s: take a smaller h"),
    "h below rounding": (lambda: run(h=1e-300), r"h is 1e-300.*larger h"),
    "h below rounding of t": (lambda: run(t_span=(1e17, 1e17 + 100.0), h=1.0), r"h is 1\.0.*larger h"),
    "Lemke with friction": (
        lambda: run(plane(contacts=[floor(**FRICTION)]), scheme=sl.MoreauJean(solver=sl.Lemke())),
        r"Lemke solves .* contact 0 is coulomb_planar: take NSGS\(\)",
    ),
    "Direct with two": (
        lambda: run(
            plane(contacts=[floor(), floor(gap=lambda q: q[1], name="wall")]),
            scheme=sl.MoreauJean(solver=sl.contact.Direct()),
        ),
        r"Direct solves one contact.* 2",
    ),
    "solver a class": (
        lambda: run(scheme=sl.MoreauJean(solver=sl.Lemke)),
        r"solver of MoreauJean.*Lemke\(\)",
    ),
    "solver words": (lambda: run(scheme=sl.MoreauJean(solver="lemke")), r"solver of MoreauJean is 'lemke'"),
    "theta": (lambda: sl.MoreauJean(theta=1.5), r"theta of MoreauJean is 1\.5: it must lie between 0"),
    "theta words": (lambda: sl.MoreauJean(theta="half"), r"theta of MoreauJean is 'half'"),
    "gamma nan": (lambda: sl.MoreauJean(gamma=np.nan), r"gamma of MoreauJean is nan"),
    "at": (lambda: sl.MoreauJean(at="start"), r"at of MoreauJean is 'start': it must be 'theta', 'end' or 'both'"),
    "max_iterations": (lambda: sl.MoreauJean(max_iterations=0), r"max_iterations of MoreauJean is 0"),
    "half iterations": (lambda: sl.MoreauJean(max_iterations=2.5), r"max_iterations of MoreauJean is 2\.5"),
    "closed_tolerance": (
        lambda: sl.MoreauJean(closed_tolerance=np.nan),
        r"closed_tolerance of MoreauJean is nan",
    ),
    "doubling a class": (lambda: sl.StepDoubling(sl.MoreauJean), r"StepDoubling.*MoreauJean"),
    "doubling nothing": (
        lambda: sl.StepDoubling(None),
        r"StepDoubling needs a scheme such as MoreauJean\(\), not None",
    ),
    "doubling order": (
        lambda: sl.StepDoubling(sl.MoreauJean(), 0),
        r"order of StepDoubling is 0.*at least 1",
    ),
    "doubling rtol": (
        lambda: sl.StepDoubling(sl.MoreauJean(), rtol=-1.0),
        r"rtol of StepDoubling is -1\.0: it must not be negative",
    ),
    "degree negative": (lambda: sl.TDGMinus(-1), r"degree of TDGMinus is -1: it must be a whole number, 0 to 12"),
    "degree too high": (lambda: sl.TDGPlus(13), r"degree of TDGPlus is 13: it must be a whole number, 0 to 12"),
    "degree half": (lambda: sl.TDGMinus(1.5), r"degree of TDGMinus is 1\.5: it must be a whole number or a list"),
    "degree words": (lambda: sl.TDGMinus("two"), r"degree of TDGMinus is 'two': it must be a whole number or a list"),
    "degree None": (lambda: sl.TDGPlus(None), r"degree of TDGPlus is None: it must be a whole number or a list"),
    "degrees empty": (lambda: sl.TDGPlus([]), r"degree of TDGPlus is \[\]: it must be a whole number or a list"),
    "degrees wrong": (lambda: sl.TDGMinus([1, 2, 14]), r"degree\[2\] of TDGMinus is 14: it must be a whole number"),
    "degrees half": (lambda: sl.TDGMinus([1, 0.5]), r"degree\[1\] of TDGMinus is 0\.5: it must be a whole number"),
    "nodes": (
        lambda: sl.TDGMinus(2, "gauss"),
        r"nodes of TDGMinus is 'gauss': it must be one of 'clenshaw-curtis', 'lobatto'",
    ),
    "impact": (
        lambda: sl.TDGPlus(1, impact="newton"),
        r"impact of TDGPlus is 'newton': it must be one of 'rest', 'previous', 'left'",
    ),
    "activation": (
        lambda: sl.TDGMinus(activation=None),
        r"activation of TDGMinus is None: it must be one of 'interval', 'stage'",
    ),
    "level": (
        lambda: sl.TDGMinus(level="position"),
        r"level of TDGMinus is 'position': it must be one of 'acceleration', 'velocity'",
    ),
    "weighting": (
        lambda: sl.TDGPlus(weighting="lumped"),
        r"weighting of TDGPlus is 'lumped': it must be one of 'reduced', 'exact'",
    ),
    "projection": (lambda: sl.TDGMinus(projection="active"), r"projection of TDGMinus is 'active': .*True or False"),
    "split": (lambda: sl.TDGPlus(split=2), r"split of TDGPlus is 2: it must be True or False"),
    "stiff": (lambda: sl.TDGPlus(stiff="yes"), r"stiff of TDGPlus is 'yes': it must be True or False"),
    "negative closed_tolerance": (
        lambda: sl.TDGMinus(closed_tolerance=-1e-9),
        r"closed_tolerance of TDGMinus is -1e-09: it must be zero or a little more",
    ),
    "rest_tolerance": (
        lambda: sl.TDGMinus(rest_tolerance=np.nan),
        r"rest_tolerance of TDGMinus is nan: it must be zero or a little more",
    ),
    "newton_tolerance": (
        lambda: sl.TDGPlus(newton_tolerance=0.0),
        r"newton_tolerance of TDGPlus is 0\.0: it must be positive",
    ),
    "projection_tolerance": (
        lambda: sl.TDGPlus(projection_tolerance=-1.0),
        r"projection_tolerance of TDGPlus is -1\.0: it must be positive",
    ),
    "no iterations": (lambda: sl.TDGMinus(max_iterations=0), r"max_iterations of TDGMinus is 0: it must be positive"),
    "iterations and a half": (
        lambda: sl.TDGPlus(max_iterations=2.5),
        r"max_iterations of TDGPlus is 2\.5: it must be a whole number",
    ),
    "Galerkin words": (
        lambda: sl.TDGMinus(closed_tolerance="small"),
        r"closed_tolerance of TDGMinus is '?small'?",
    ),
    "Galerkin iterations words": (
        lambda: sl.TDGMinus(max_iterations="many"),
        r"max_iterations of TDGMinus is '?many'?",
    ),
    "Galerkin iterations without end": (
        lambda: sl.TDGPlus(max_iterations=np.inf),
        r"max_iterations of TDGPlus is inf",
    ),
    "degree truth": (lambda: sl.TDGMinus(True), r"degree of TDGMinus is True"),
    "Galerkin solver": (lambda: sl.TDGMinus(solver="lemke"), r"solver of TDGMinus is 'lemke', not a contact solver"),
    "Galerkin solver a class": (lambda: sl.TDGPlus(solver=sl.Lemke), r"solver of TDGPlus is .*Lemke"),
    "Galerkin h missing": (lambda: run(scheme=sl.TDGMinus(2), h=None), r"h is missing: D2- needs a step size"),
    "NSGS tol": (lambda: sl.NSGS(tol=-1.0), r"NSGS: tol = -1\.0"),
    "t_eval outside": (lambda: run(t_eval=[0.5, 1.5]), r"t_eval.*1\.5, outside of t_span \(0\.0, 1\.0\)"),
    "t_eval unsorted": (lambda: run(t_eval=[0.5, 0.2]), r"t_eval.*(0\.5.*0\.2|0\.2.*0\.5)"),
    "t_eval twice": (lambda: run(t_eval=[0.25, 0.25]), r"t_eval.*0\.25"),
    "t_eval and save": (lambda: run(t_eval=[0.2], save="events"), r"t_eval or save, not both"),
    "breaks outside": (
        lambda: run(breaks=[1.5]),
        r"breaks must.*inside of t_span \(0\.0, 1\.0\), not \[1\.5\]",
    ),
    "breaks unsorted": (lambda: run(breaks=[0.5, 0.2]), r"breaks must increase.*not \[0\.5, 0\.2\]"),
    "breaks at the end": (lambda: run(breaks=[1.0]), r"breaks must.*inside"),
    "save words": (lambda: run(save="all"), r"save is 'all': it must be 'steps', 'events', a number"),
    "save zero": (lambda: run(save=0), r"save is 0.*k >= 1"),
    "save half": (lambda: run(save=2.5), r"save is 2\.5: it must be"),
    "save truth": (lambda: run(save=True), r"save is True: it must be"),
    "save None": (lambda: run(save=None), r"save is None: it must be"),
    "control words": (lambda: run(control="adaptive"), r"control is 'adaptive'"),
    "start tolerance": (lambda: run(start_tolerance=np.nan), r"start_tolerance is nan"),
    "side": (lambda: run()(0.5, side="left"), r"side is 'left': it must be '\+' or '-'"),
    "t after the run": (lambda: run()(1.5), r"t = 1\.5 lies outside of the run, 0\.0 to 1\.0"),
    "t before the run": (lambda: run().impulse_at(-1.0), r"t = -1\.0 lies outside of the run"),
    "t nan": (lambda: run().force_at(np.nan), r"t = nan lies outside of the run"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_wrong_arguments_are_refused_with_name_and_value(name):
    case, match = SETTINGS[name]
    refuse(case, sl.SettingError, match)


@pytest.mark.parametrize("option", ["t_eval", "breaks"])
def test_a_list_of_times_must_be_finite_numbers(option):
    refuse(lambda: run(**{option: [0.2, np.nan]}), (sl.ModelError, sl.SettingError), rf"{option}\[1\] = nan")
    refuse(lambda: run(**{option: ["soon"]}), (sl.ModelError, sl.SettingError), rf"{option} must be numbers")


def test_an_empty_list_of_requested_times_is_refused():
    refuse(lambda: run(t_eval=[]), (sl.ModelError, sl.SettingError), r"t_eval.*(empty|shape \(0,\))")


def test_one_break_may_be_given_as_a_number():
    assert 0.3 in run(breaks=0.3).t


# ---- functions that fail at the start


def table_force(t, q, v):
    return {0: -9.81}[1]


def innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def frames(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(innermost(error).__traceback__)]


def test_an_exception_at_the_start_leads_into_the_users_function():
    with pytest.raises(sl.FunctionError, match=r"f raised KeyError: 1 at t = 0, q = \[1\.\], v = \[0\.\]") as caught:
        run(ball(f=table_force))
    assert isinstance(caught.value.__cause__, KeyError)
    assert frames(caught.value)[-1] == "table_force"


def test_a_wrong_index_at_the_start_leads_into_the_users_function():
    def beside(q):
        return q[1]

    match = r"gap of contact 'floor' raised IndexError: .*out of bounds.* at t = 0, q = \[1\.\], v = \[0\.\]"
    with pytest.raises(sl.FunctionError, match=match) as caught:
        run(ball(contacts=[floor(gap=beside)]))
    assert frames(caught.value)[-1] == "beside"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("system", "match"),
    [
        (
            lambda: ball(f=lambda t, q, v: np.sqrt(q - 2.0)),
            r"f returned \[nan\] at t = 0, q = \[1\.\], v = \[0\.\]",
        ),
        (lambda: ball(M=lambda q: 1.0 / (q[0] - 1.0)), r"M returned inf at t = 0, q = \[1\.\]"),
        (
            lambda: ball(contacts=[floor(gap=lambda q: np.log(q[0] - 1.0))]),
            r"gap of contact 'floor' returned -inf at",
        ),
        (
            lambda: ball(contacts=[floor(mu=0.1, slip=lambda t, q, v: v[0] * np.sqrt(q[0] - 2.0))]),
            r"slip of contact 'floor' returned nan at t = 0",
        ),
    ],
    ids=["f", "M", "gap", "slip"],
)
def test_a_value_that_is_not_finite_at_the_start_names_function_and_state(system, match):
    refuse(lambda: run(system()), sl.FunctionError, match)


# ---- functions that fail during the run


def check_partial(error: sl.RunError, reference: sl.Solution) -> None:
    """The solution of a broken run is the beginning of the same run, up to the last good step."""
    broken = error.solution
    assert not broken.success
    assert broken.message == str(error)
    count = len(broken.t)
    assert count > 1
    np.testing.assert_array_equal(broken.t, reference.t[:count])
    np.testing.assert_array_equal(broken.q, reference.q[:count])
    np.testing.assert_array_equal(broken.v, reference.v[:count])
    np.testing.assert_array_equal(broken(broken.t[-1]).q, broken.q[-1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_force_that_becomes_nan_names_itself_and_keeps_the_run_so_far():
    # q'' = -2 sqrt(q) passes zero with a velocity: the root of a negative number
    system = sl.System(M=1.0, f=lambda t, q, v: -2.0 * np.sqrt(q))
    with pytest.raises(sl.RunError, match=r"f returned \[nan\] at t = [\d.]+, q = \[-.*\], v = \[-.*\]") as caught:
        run(system, t_span=(0.0, 4.0))
    last = caught.value.solution.t[-1]
    assert caught.value.solution.q[-2, 0] > 0.0
    check_partial(caught.value, run(system, t_span=(0.0, last)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("system", "match"),
    [
        (
            lambda: sl.System(M=lambda q: 1.0 / np.sqrt(q[0] - 0.5), f=-9.81),
            r"M returned .*nan.* at t = [\d.]+, q = \[0\.4",
        ),
        (
            lambda: ball(contacts=[floor(gap=lambda q: np.sqrt(q[0] - 0.5))]),
            r"gap of contact 'floor' returned .*nan.* at t = [\d.]+, q = \[0\.4",
        ),
        (
            lambda: ball(
                contacts=[floor(gap=lambda q: q[0] - 0.5, mu=0.1, slip=lambda t, q, v: v[0] * np.sqrt(0.4 - t))]
            ),
            r"slip of contact 'floor' returned .*nan.* at t = [\d.]+, q = ",
        ),
        (
            lambda: ball(joints=[sl.Joint(lambda t, q: (q[0] - 1.0) * np.sqrt(0.4 - t), name="clamp")]),
            r"constraint of joint 'clamp' returned .*nan.* at t = 0\.4",
        ),
        (
            lambda: ball(q_dot=lambda q, v: v * np.sqrt(q - 0.5) / np.sqrt(q - 0.5)),
            r"q_dot returned .*nan.* at t = [\d.]+, q = \[0\.4",
        ),
        (
            lambda: ball(retract=lambda q: q * np.sqrt(q - 0.5) / np.sqrt(q - 0.5)),
            r"retract returned .*nan.* at t = [\d.]+, q = \[0\.4",
        ),
    ],
    ids=["M", "gap", "slip", "joint", "q_dot", "retract"],
)
def test_any_function_that_becomes_nan_names_itself(system, match):
    with pytest.raises(sl.RunError, match=match) as caught:
        run(system())
    assert 0.0 < caught.value.solution.t[-1] < 1.0
    assert np.all(np.isfinite(caught.value.solution.q))


class Wind:
    """Something that cannot be compiled."""

    def at(self, t: float) -> float:
        if t > 0.3:
            raise LookupError("no wind data after 0.3 s")
        return -1.0


WIND = Wind()


def windy(t, q, v):
    return WIND.at(float(t))


def late(t, q, v):
    if t > 0.3:
        raise ValueError("the force is not known after 0.3 s")
    return -1.0


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
@pytest.mark.parametrize(
    ("function", "words", "inner"),
    [
        (windy, r"LookupError: no wind data after 0\.3 s", "at"),
        (late, r"ValueError: the force is not known", "late"),
    ],
    ids=["called as Python", "compiled from source"],
)
def test_an_exception_during_the_run_leads_into_the_users_function(function, words, inner):
    system = sl.System(M=1.0, f=function)
    with pytest.raises(sl.RunError, match=rf"f raised {words}.* at t = 0\.30\d+, q = \[.*\], v = \[-0\.3") as caught:
        run(system)
    assert isinstance(caught.value.__cause__, sl.FunctionError)
    assert frames(caught.value)[-1] == inner
    # the middle of step k lies before 0.3 for k < 19
    assert caught.value.solution.t[-1] == 19 * H
    check_partial(caught.value, run(system, t_span=(0.0, 19 * H)))
    np.testing.assert_allclose(caught.value.solution.v[:, 0], -caught.value.solution.t, atol=1e-12)


def outside_of_q(t, q, v):
    if t > 0.3:
        return [q[7]]
    return [-1.0]


def growing(t, q, v):
    return WIND.at(0.0) * np.ones(1 if float(t) < 0.3 else 2)


def silent(t, q, v):
    return WIND.at(0.0) if float(t) < 0.3 else None


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
@pytest.mark.parametrize(
    ("function", "words"),
    [
        (outside_of_q, r"f raised IndexError: index 7 is out of bounds .* at t = 0\.30"),
        (growing, r"f returned 2 numbers, expected 1 at t = 0\.30"),
        (silent, r"f returned None: does it lack a return"),
    ],
    ids=["index", "size", "nothing"],
)
def test_a_wrong_result_during_the_run_is_no_silent_damage(function, words):
    with pytest.raises(sl.RunError, match=words) as caught:
        run(sl.System(M=1.0, f=function))
    assert caught.value.solution.t[-1] == 19 * H
    np.testing.assert_allclose(caught.value.solution.v[:, 0], -caught.value.solution.t, atol=1e-12)


def test_a_force_that_writes_into_its_arguments_moves_nothing():
    def scribbling(t, q, v):
        q[0], v[0] = 5.0, 3.0
        return [-2.0]

    sol = run(sl.System(M=1.0, f=scribbling))
    np.testing.assert_allclose(sol.q[:, 0], 1.0 - sol.t**2, rtol=0.0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_a_force_may_return_the_same_array_again_and_again():
    answer = np.zeros(1)

    def reusing(t, q, v):
        answer[0] = -2.0 * q[0]
        return answer

    expected = run(sl.System(M=1.0, f=lambda t, q, v: -2.0 * q))
    np.testing.assert_allclose(run(sl.System(M=1.0, f=reusing)).q, expected.q, rtol=0.0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
@pytest.mark.parametrize("save", [5, "events", [0.0, 0.1, 0.9]])
def test_a_broken_run_that_was_thinned_is_still_readable(save):
    with pytest.raises(sl.RunError) as caught:
        run(sl.System(M=1.0, f=late), save=save)
    broken = caught.value.solution
    np.testing.assert_allclose(broken.v[:, 0], -broken.t, atol=1e-12)
    assert broken.t[-1] == (0.1 if isinstance(save, list) else 19 * H)


def test_a_broken_run_before_the_first_requested_time_is_still_an_error_of_the_run():
    with (
        pytest.warns(sl.SlowFunctionWarning),
        pytest.raises(sl.RunError, match=r"f raised ValueError: the force is not known"),
    ):
        run(sl.System(M=1.0, f=late), save=[0.9])


def test_a_mass_that_becomes_indefinite_during_the_run_is_named_with_its_state():
    system = sl.System(M=lambda q: q[0] - 0.5, f=-9.81)
    with pytest.raises(
        sl.RunError, match=r"M is not positive definite at t = 0\.\d+, q = \[0\.4.*eigenvalue"
    ) as caught:
        run(system)
    check_partial(caught.value, run(system, t_span=(0.0, caught.value.solution.t[-1])))


def test_joints_that_part_later_are_named():
    parting = [
        sl.Joint(lambda q: q[0] - 1.0, name="wall"),
        sl.Joint(lambda t, q: q[0] - 1.0 - t**3, name="drive"),
    ]
    with pytest.raises(sl.RunError, match=r"joints contradict each other.*t = .*wall.*drive"):
        run(plane(joints=parting))


# ---- what looks odd and is right


def test_redundant_joints_that_agree_work():
    twice = [sl.Joint(lambda q: q[0] - 1.0, name="a"), sl.Joint(lambda q: 2.0 * q[0] - 2.0, name="b")]
    sol = run(plane(f=[3.0, -9.81], joints=twice))
    np.testing.assert_allclose(sol.q[:, 0], 1.0, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sol.q[:, 1], 1.0 - 9.81 * sol.t**2 / 2.0, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sol.joint_impulse @ [1.0, 2.0], -3.0 * H, rtol=1e-10)


@pytest.mark.parametrize("contacts", [[], (), None], ids=["list", "tuple", "nothing"])
def test_a_system_without_contacts_falls_freely(contacts):
    options = {} if contacts is None else {"contacts": contacts}
    sol = run(sl.System(M=1.0, f=-9.81, **options))
    np.testing.assert_allclose(sol.q[:, 0], 1.0 - 9.81 * sol.t**2 / 2.0, rtol=0.0, atol=1e-12)


def test_a_single_contact_needs_no_list():
    assert len(run(ball(contacts=floor())).events) > 0


def test_a_start_on_the_floor_is_no_penetration():
    assert run(q0=0.0).success
    assert run(q0=-1e-9).success  # below the tolerance of the start
    refuse(
        lambda: run(q0=-1e-9, start_tolerance=1e-12),
        sl.ModelError,
        r"q0 violates contact 'floor': g = -1\.000e-09",
    )


def test_a_problem_lends_its_start_and_an_argument_replaces_it():
    sol = sl.solve(sl.problems.zeno_ball(), t_span=(0.0, 0.5), q0=3.0, scheme=sl.MoreauJean(), h=H)
    assert sol.q[0, 0] == 3.0
    assert sol.t[-1] == 0.5


# ---- scales

SCALES = {
    "heavy": {"system": lambda: ball(M=1e300)},
    "light": {"system": lambda: ball(M=1e-300)},
    "strong": {"system": lambda: ball(f=-1e300)},
    "weak": {"system": lambda: ball(f=-1e-300)},
    "far": {"q0": 1e300},
    "near": {"q0": 1e-300},
    "fast": {"v0": -1e300},
    "slow": {"v0": -1e-300},
    "eternal": {"t_span": (0.0, 1e300), "h": 1e298},
    "instant": {"t_span": (0.0, 1e-300), "h": 1e-302},
    "all small": {"system": lambda: ball(f=-1e-300), "q0": 1e-300, "v0": -1e-300},
    "steep gap": {"system": lambda: ball(contacts=[floor(gap=lambda q: 1e300 * q[0])])},
    "flat gap": {"system": lambda: ball(contacts=[floor(gap=lambda q: 1e-300 * q[0])])},
    "stiff": {"system": lambda: ball(K=1e300)},
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SCALES)
def test_absurd_scales_end_with_finite_numbers_or_a_sentence(name):
    options = dict(SCALES[name])
    system = options.pop("system", ball)()
    try:
        sol = run(system, **options)
    except sl.RunError as error:
        sol = error.solution
        assert len(str(error)) > 20
    except sl.SaltusError as error:
        assert len(str(error)) > 20
        return
    assert np.all(np.isfinite(sol.q))
    assert np.all(np.isfinite(sol.v))
    assert np.all(np.isfinite(sol.impulse))


@pytest.mark.parametrize("power", [-300, 300])
def test_units_of_mass_and_length_change_nothing_but_the_units(power):
    scale = 2.0**power  # exact in binary: every digit must agree
    settings = {"t_span": (0.0, 4.0), "scheme": sl.MoreauJean(closed_tolerance=0.0)}  # the tolerance is a length
    plain = run(ball(f=-2.0), **settings)
    heavy = run(ball(M=scale, f=-2.0 * scale), **settings)
    long = run(ball(f=-2.0 * scale), q0=scale, **settings)
    np.testing.assert_array_equal(heavy.q, plain.q)
    np.testing.assert_array_equal(heavy.v, plain.v)
    np.testing.assert_array_equal(heavy.impulse, plain.impulse * scale)
    np.testing.assert_array_equal(long.q, plain.q * scale)
    np.testing.assert_array_equal(long.v, plain.v * scale)
    np.testing.assert_array_equal(long.events["t"], plain.events["t"])


@pytest.mark.parametrize("slope", [1e200, 1e-200])
def test_a_gap_whose_square_is_no_number_is_refused(slope):
    refuse(
        lambda: run(ball(contacts=[floor(gap=lambda q: slope * q[0])])),
        sl.ModelError,
        rf"gap of contact 'floor' changes by {slope:g} per unit of q at t = 0.*other units".replace("+", r"\+"),
    )
