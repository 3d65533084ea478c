"""Numbers and vectors of the intervals of HpTDG: tables of every degree, what is kept from step to step."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from saltus.compile.seam import head, tail, unit, whole
from saltus.compile.types import A, I
from saltus.compile.workspace import Numbers, RoomPlan, Workspace, integers
from saltus.flight.frame import FLIGHT_SETTINGS
from saltus.flight.scan import SCAN, with_factors
from saltus.lasting.hold import REPORTED
from saltus.lasting.interval import JACOBIANS, STAGES_ROOM
from saltus.memory.layout import J_CONSTANT, M_CONSTANT, sizes_of
from saltus.schemes.hp_tdg.choice import FIT
from saltus.tables import stored
from saltus.tables.stored import RAISED
from saltus.tables.tableau import STAGE_MATRIX, STAGE_VECTOR, TAB, packed, place, tableau


class _Setting(NamedTuple):
    """Places of the settings of the phase."""

    # the settings of the phase: a table for flights that stand, highest degree, degree to begin with, whether degree
    # and length are fixed; per degree where D-, D+, samples, Legendre transform and lift begin; then the logs of
    # kappa of every degree, for D- and D+
    standing: int = 0
    top: int = 1
    begin_with: int = 2
    fixed: int = 3
    degrees_at: int = 4
    kappa_at: int = 5
    stiff_kappa_at: int = 6
    head: int = 7


SETTING = _Setting()


class _OfDegree(NamedTuple):
    """Tables of one degree."""

    # those behind D- and D+ are stored by columns (compile/columns.py): samples (with the factors of the nodes
    # behind them), Legendre transform, lift, and the matrices of positions and of velocities of D- and of D+
    minus: int = 0
    plus: int = 1
    sampled: int = 2
    legendre: int = 3
    lift: int = 4
    minus_columns: int = 5
    plus_columns: int = 6
    all: int = 7


OF_DEGREE = _OfDegree()

# Numbers that are kept from step to step.
#   next_degree               degree to take
#   contraction               of the iteration
#   contracted                correction, in units of the tolerance, at whose size that was seen
#   j_known, unmoved          1 where Jacobians are known; 1 where they show that no force of a held row depends on
#                             the state, so that stages of linear forces stay linear
#   series_t, _h, _n, _rough  begin, length and number of coefficients (0: none) of the polynomial of the last solved
#                             interval; 1 where it is that of a first look
#   stiff, stiff_count, rate  1 where forces are stiff; how many intervals were too fast (negative: how long not to
#                             ask); fastest rate of the forces [1/s]
#   sweeps_mean, sweeps_now   per interval, and of this one
#   foreseen                  contact whose closing is foreseen
#   degree_now, h_now         of this interval
#   pace                      progress per evaluation before
#   false_alarms, skip        foreseen impacts in a row that did not happen; intervals left without a forecast
#   factored_h, factored_for  length (0: none) and family of the interval whose matrix is factored
#   guess                     error of the first guess of an interval, in units of the tolerance
#   looked_h, looked_degree   length (or 0) and degree of a first look whose Jacobians wait to be used
#   linearised, driven        1 where the guess of this interval is by linearised forces, -1 where it is none for that
#                             they are driven; 1 where such a guess was poor although forces are linear: what drives
#                             them is not in it
#   tried_h, tried_for        length (0: none) and family of the interval whose factors are kept beside
HP_NUMBERS = Numbers(
    "next_degree contraction contracted j_known unmoved series_t series_h series_n stiff sweeps_mean foreseen "
    "degree_now h_now rate stiff_count pace sweeps_now false_alarms skip factored_h factored_for guess looked_h "
    "looked_degree series_rough linearised driven tried_h tried_for"
)
# What kind of equations the stages of an interval have: first ... end - 1 are unknown; acting: 1 where contacts or
# joints are held; free: 1 where forces do not know the motion; linear: 1 where one sweep is exact; newton: 1 for
# Newton's method; learns: 1 where sweeps improve the Jacobians of the stages; learnt: 1 where they are those of a first
# look
SOLVING = Numbers("first end acting free linear newton learns learnt", integer=True)
# stage_j_q, stage_j_v: Jacobians of the stages, those of a first look behind them; tried_matrix, tried_pivots: factors
# of the last interval that was tried, which those of the shorter one up to its impact leave alone; sweep: what the last
# sweep changed, and what its forces lack, in units of the tolerance
GALERKIN = Workspace(
    "GalerkinPhase", numbers=HP_NUMBERS, solving=SOLVING, sweep=Numbers("moved lacks"), fit="fit",
    known_index="nc", series="n * nv", j_q="nv * nv", j_v="nv * nv",
    stage=STAGES_ROOM, change="n * nv", matrix="unknowns * unknowns", scratch="nv", jacobian_work=JACOBIANS, levels="n",
    stage_j_q="2 * n * learnt * learnt", stage_j_v="2 * n * learnt * learnt", before="3 * n * learnt",
    pivots=integers("n * nv"), tried_matrix="tried * tried", tried_pivots=integers("tried"),
)  # fmt: skip


class _Systems(NamedTuple):
    """Tuned numbers of this file."""

    # unknowns that Newton's method solves for together; beyond, plain iteration on shorter intervals
    largest_system: int = 240
    learning_system: int = 96  # unknowns up to which a new matrix per sweep costs less than the sweeps that it saves


SYSTEMS = _Systems()


@functools.cache
def degree_numbers(nodes: str, top: int) -> tuple[list[list[np.ndarray]], np.ndarray, np.ndarray]:
    """Return per degree D-, D+, samples, Legendre transform, lift to raised nodes; and log(kappa) of both families.

    The lift: values, integrals and double integrals at the raised nodes of a polynomial given at its own.
    """
    store = stored.stored()
    if nodes == "lobatto" and top <= stored.TOP and store.degrees and stored.SAMPLES == SCAN.samples:
        below = [list(store.degrees[degree]) for degree in range(1, top + 1)]
        above = [store.degrees[top + k] for k in range(1, RAISED + 1)]
        below += [[one.minus, np.zeros(0), one.samples] for one in above]
        return below, store.kappa[: top + 1], store.stiff_kappa[: top + 1]
    made, kappa, stiff_kappa = [], np.ones(top + 1), np.ones(top + 1)
    for degree in range(1, top + RAISED + 1):
        minus = tableau(degree, "-", nodes)
        samples = minus.interpolation(np.arange(SCAN.samples + 1) / SCAN.samples)
        made.append([packed(minus), np.zeros(0), samples.ravel()])
        if degree > top:
            continue
        plus = tableau(degree, "+", nodes, stiff=True)
        vandermonde = legendre.legvander(2.0 * minus.c - 1.0, degree)
        values = vandermonde[:, degree]
        kappa[degree] = abs(minus.b @ values - minus.Av[-1] @ values)
        stiff_kappa[degree] = abs(plus.Av[0] @ values)
        raised = tableau(degree + RAISED, "-", nodes).c
        lift = np.concatenate([minus.interpolation(raised), *minus.integrals(raised)])
        made[-1][1] = packed(plus)
        made[-1] += [np.linalg.inv(vandermonde).ravel(), lift.ravel()]
    return made, np.log(np.maximum(kappa, 1e-300)), np.log(np.maximum(stiff_kappa, 1e-300))


def galerkin_room(layout, top: int) -> RoomPlan:
    """Return the plan of what the phase works with."""
    nv, n, flags = int(layout.nv), top + 1, int(layout.features)
    unknowns, constant = min(n * nv, SYSTEMS.largest_system), flags & J_CONSTANT and flags & M_CONSTANT
    own = {
        "n": n, "largest": n, "fit": FIT.size, "unknowns": unknowns, "tried": unknowns if constant else 0,
        "width": REPORTED.first_contact + int(layout.nc), "learnt": nv if nv <= SYSTEMS.learning_system else 0,
    }  # fmt: skip
    return GALERKIN.plan({**sizes_of(layout), **own})


@functools.lru_cache(maxsize=64)
def galerkin_numbers(nodes: str, top: int, begin_with: int, fixed: bool, begin: int) -> np.ndarray:
    """Return the settings of the phase, which begin at a place of those of the flight."""
    made, kappa, stiff_kappa = degree_numbers(nodes, top)
    degrees_at = begin + SETTING.head
    kappa_at = degrees_at + OF_DEGREE.all * (top + RAISED + 1)
    at = kappa_at + 2 * (top + 1)
    places, parts = np.zeros((top + RAISED + 1, OF_DEGREE.all)), []
    for degree, arrays in enumerate(made, start=1):
        for k, array in enumerate(_by_columns(degree, *arrays)):
            places[degree, k] = at
            at += len(array)
            parts.append(array)
    head = [places[1, OF_DEGREE.minus], top, begin_with, fixed, degrees_at, kappa_at, kappa_at + top + 1]
    return np.concatenate([head, places.ravel(), kappa, stiff_kappa, *parts])


def _by_columns(degree: int, minus, plus, samples, transform=None, lift=None) -> list[np.ndarray]:
    """Return the numbers of a degree as kernels take them; degrees of raised nodes have no transform and no lift."""
    n, none = degree + 1, np.zeros(0)
    nodes = minus[TAB.vectors + STAGE_VECTOR.node * n :][:n]
    made = [minus, plus, with_factors(samples.reshape(-1, n), nodes), none, none, none, none]
    if transform is not None and lift is not None:
        made[OF_DEGREE.legendre] = transform.reshape(n, n).T.ravel()
        made[OF_DEGREE.lift] = lift.reshape(3, n + RAISED, n).transpose(0, 2, 1).ravel()
        for table, kind in ((minus, OF_DEGREE.minus_columns), (plus, OF_DEGREE.plus_columns)):
            matrices = (table[place(n, name) :][: n * n] for name in (STAGE_MATRIX.position, STAGE_MATRIX.velocity))
            made[kind] = np.concatenate([matrix.reshape(n, n).T.ravel() for matrix in matrices])
    return made


@unit(I(A, I, I), small=True)
def numbers_of(settings, degree, kind):
    """Return where the numbers of a degree begin."""
    settings = FLIGHT_SETTINGS(settings)
    return whole(
        settings[whole(settings[whole(settings.phase_at) + SETTING.degrees_at]) + OF_DEGREE.all * degree + kind]
    )


@unit(A(A, I, I), small=True)
def table_of(settings, degree, stiff):
    """Return the table of a degree."""
    at = numbers_of(settings, degree, OF_DEGREE.plus if stiff == 1 else OF_DEGREE.minus)
    return tail(settings, at)


@unit(A(A, I, I), small=True)
def columns_of(settings, degree, stiff):
    """Return the matrices of positions and of velocities of a degree by columns."""
    n = degree + 1
    at = numbers_of(settings, degree, OF_DEGREE.plus_columns if stiff == 1 else OF_DEGREE.minus_columns)
    return head(tail(settings, at), 2 * n * n)


@unit(A(A, I), small=True)
def kappa_of(settings, stiff):
    """Return log(kappa) of all degrees of a family."""
    settings = FLIGHT_SETTINGS(settings)
    at = whole(settings.phase_at)
    return head(
        tail(settings, whole(settings[at + (SETTING.stiff_kappa_at if stiff == 1 else SETTING.kappa_at)])),
        whole(settings[at + SETTING.top]) + 1,
    )
