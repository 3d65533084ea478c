"""Coefficients of Runge-Kutta methods (Hairer, Norsett, Wanner: Solving Ordinary Differential Equations I and II).

Explicit tables are typed in exact numbers and rounded once; implicit ones are computed from their definition.
"""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Legendre, Polynomial

from saltus.errors import SettingError


@dataclass(frozen=True, eq=False)
class RungeKutta:
    """One step of y' = f(t, y): Y_i = y + h sum_j A_ij f_j, f_j = f(t + c_j h, Y_j), y_new = y + h sum_j b_j f_j.

    All entries are pure numbers, and the arrays are read-only.

    Attributes
    ----------
    name, order
        Name of the table, and order of y_new, that is, of the weights b.
    c, A, b
        Nodes (stages), coefficients (stages, stages) and weights (stages).
    error, error_order
        Weights of the error estimates (estimates, stages): h error[k] @ f = y_new - y_hat, where y_hat has the order
        error_order[k]. No rows where the table has no estimate.
    dense, dense_order
        Dense output (all stages, degree): y(t + s h) = y + h sum_k sum_j dense[k, j] s^(j+1) f_k, of order dense_order
        for every s in [0, 1]; at s = 1 it is y_new.
    nested
        The same as y + h s (F_0 + (1-s) (F_1 + s (F_2 + (1-s) (F_3 + ...)))) with F = nested @ f (degree, all stages);
        no rows if implicit. For "dop853" the round-off of the powers is 1e-13 h f, that of this form 1e-15 h f.
    c_extra, A_extra
        Nodes and rows (extra stages, all stages) of the explicit stages that only the dense output needs; they follow
        those of the step.
    """

    name: str
    order: int
    c: np.ndarray
    A: np.ndarray
    b: np.ndarray
    error: np.ndarray
    error_order: tuple[int, ...]
    dense: np.ndarray
    dense_order: int
    nested: np.ndarray
    c_extra: np.ndarray
    A_extra: np.ndarray

    def __post_init__(self):
        for array in (self.c, self.A, self.b, self.error, self.dense, self.nested, self.c_extra, self.A_extra):
            array.setflags(write=False)

    @property
    def stages(self) -> int:
        """Number of stages of the step, without the extra ones."""
        return len(self.b)

    @property
    def explicit(self) -> bool:
        """True when every stage needs only the ones before it."""
        return not np.any(np.triu(self.A))

    @property
    def stiffly_accurate(self) -> bool:
        """True when y_new is the last stage. If A[0] is zero too, the last f is the first of the next step."""
        return bool(np.all(self.A[-1] == self.b))

    @property
    def b_hat(self) -> np.ndarray:
        """Weights of the embedded solutions y_hat (estimates, stages)."""
        return self.b - self.error

    @property
    def A2(self) -> np.ndarray:
        """A A, for q'' = a(t, q): Q_i = q + c_i h v + h^2 sum_j A2_ij a_j, and q_new = q + h v + h^2 (b A) @ a."""
        return self.A @ self.A


def names() -> tuple[str, ...]:
    """Return the names of all tables."""
    return (*_EXPLICIT, *_IMPLICIT)


def table(name: str) -> RungeKutta:
    """Return the table of that name in double precision."""
    if name in names():
        return _rounded(name)
    near = difflib.get_close_matches(str(name).lower(), names(), n=1)
    meant = f": did you mean {near[0]!r}?" if near else ""
    raise SettingError(f"no Runge-Kutta table is called {name!r}{meant} (known: {', '.join(names())})")


def rational(name: str) -> RungeKutta:
    """Return the explicit table of that name in exact numbers: its arrays hold Fractions."""
    if name not in _EXPLICIT:
        raise SettingError(f"no exact Runge-Kutta table is called {name!r} (known: {', '.join(_EXPLICIT)})")
    order, error_order, dense_order, stages, end, nodes, rows, b_hat, interior = _EXPLICIT[name]
    c = _rows(nodes, len(nodes.split()))[0]
    A = _rows(rows, len(c))
    b, one = A[end], np.eye(len(c), dtype=object)
    # the cubic through y and y_new with the slopes f_0 and f_end, and terms that vanish with their slope at both ends
    nested = np.array([b, one[0] - b, 2 * b - one[0] - one[end], *_rows(interior, len(c))])
    step = c[:stages], A[:stages, :stages], b[:stages]
    error, output = b[:stages] - _rows(b_hat, stages), (_powers(nested), dense_order, nested)
    return RungeKutta(name, order, *step, error, error_order, *output, c[stages:], A[stages:])


@functools.cache
def _rounded(name: str) -> RungeKutta:
    if name in _IMPLICIT:
        return _computed(name)
    exact = rational(name)
    arrays = {key: x for key, x in vars(exact).items() if isinstance(x, np.ndarray)}
    return replace(exact, **{key: np.ascontiguousarray(x, dtype=float) for key, x in arrays.items()})


def _rows(text: str, columns: int) -> np.ndarray:
    """Read rows that are divided by semicolons; `3:x` puts x into column 3, what follows goes on from there."""
    rows = text.split(";") if text else []
    array = np.zeros((len(rows), columns), dtype=object)
    for i, row in enumerate(rows):
        column = 0
        for token in row.split():
            place, _, number = token.rpartition(":")
            column = int(place) if place else column
            array[i, column] = Fraction(number)
            column += 1
    return array


def _powers(nested: np.ndarray) -> np.ndarray:
    """Return the coefficients of s, s^2, ... of the nested form of the dense output."""
    powers = nested[-1][:, None]
    for k in reversed(range(len(nested) - 1)):
        times_s = np.insert(powers, 0, 0, axis=1)
        powers = times_s if k % 2 else np.insert(powers, powers.shape[1], 0, axis=1) - times_s
        powers[:, 0] += nested[k]
    return powers


def _computed(name: str) -> RungeKutta:
    """Return an implicit table; its dense output integrates the polynomial through all f_k."""
    family, stages = _IMPLICIT[name]
    below = 1 if family == "radau" else 2
    c = _nodes(stages, below)
    A = _lobatto3c(c) if family == "lobatto3c" else _integrals(c, c)
    none = np.empty((0, stages))
    others = [np.delete(c, j) for j in range(stages)]
    dense = np.array([Polynomial.fromroots(x).integ().coef[1:] / np.prod(c[j] - x) for j, x in enumerate(others)])
    return RungeKutta(name, 2 * stages - below, c, A, A[-1].copy(), none, (), dense, stages, none, none[:, 0], none)


def _nodes(stages: int, below: int) -> np.ndarray:
    """Return the zeros of P_s - P_(s-below) on [0, 1], P the Legendre polynomials: Radau for 1, Lobatto for 2."""
    zero = Legendre.basis(stages, domain=[0, 1]) - Legendre.basis(stages - below, domain=[0, 1])
    c = np.sort(zero.roots().real)  # numpy 2.5 calls them complex
    c -= zero(c) / zero.deriv()(c)  # without this step of Newton the last digit is wrong
    c[[0, -1]] = (c[0] if below == 1 else 0.0), 1.0  # the ends are zeros exactly
    return c


def _lagrange(c: np.ndarray, j: int, x: np.ndarray) -> np.ndarray:
    """Return the polynomial that is 1 at the node c_j and 0 at the others, at the points x."""
    others = np.delete(c, j)
    return np.prod((x[..., None] - others) / (c[j] - others), axis=-1)


def _integrals(c: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the integrals of the Lagrange polynomials of c from 0 to upper (upper, c), by Gauss quadrature."""
    x, weight = np.polynomial.legendre.leggauss(len(c))
    points = np.multiply.outer(upper, (x + 1) / 2)
    return np.stack([upper / 2 * (_lagrange(c, j, points) @ weight) for j in range(len(c))], axis=1)


def _lobatto3c(c: np.ndarray) -> np.ndarray:
    """Return A of Lobatto IIIC: its first column is b_0, and powers of t up to s - 2 are integrated exactly."""
    b_0 = _integrals(c, c)[-1, 0]
    rest = _integrals(c[1:], c) - b_0 * np.array([_lagrange(c[1:], j, c[0]) for j in range(len(c) - 1)])
    return np.insert(rest, 0, b_0, axis=1)


_IMPLICIT = {
    "radau3": ("radau", 2),
    "radau5": ("radau", 3),
    "lobatto3a": ("lobatto3a", 3),
    "lobatto3c": ("lobatto3c", 3),
    "lobatto3c2": ("lobatto3c", 2),
}


class _Typed(NamedTuple):
    """An explicit table as text (see `_rows`)."""

    order: int
    error_order: tuple[int, ...]
    dense_order: int
    stages: int
    end: int  # the row of A that holds b: the f of this stage is that of y_new
    c: str
    A: str  # the rows of all stages, those of the dense output included
    b_hat: str = ""
    interior: str = ""  # the terms of the dense output after the cubic


_EXPLICIT = {
    "heun": _Typed(2, (1,), 2, 2, 2, "0 1 1", "0; 1; 1/2 1/2", "1 0"),
    "kutta3": _Typed(3, (2,), 3, 3, 3, "0 1/2 1 1", "0; 1/2; -1 2; 1/6 2/3 1/6", "0 1 0"),
    "rk4": _Typed(4, (), 3, 4, 4, "0 1/2 1/2 1 1", "0; 1/2; 0 1/2; 0 0 1; 1/6 1/3 1/3 1/6"),
    # Fehlberg 1969, y_new of order 5; dense output: the order conditions up to 4, without the sixth stage
    "rkf45": _Typed(
        5, (4,), 4, 6, 6,
        "0 1/4 3/8 12/13 1 1/2 1",
        """0; 1/4; 3/32 9/32; 1932/2197 -7200/2197 7296/2197; 439/216 -8 3680/513 -845/4104;
        -8/27 2 -3544/2565 1859/4104 -11/40; 16/135 0 6656/12825 28561/56430 -9/50 2/55""",
        "25/216 0 1408/2565 2197/4104 -1/5",
        "-13/18 0 1664/855 -2197/342 27/10 0 5/2",
    ),
    # Dormand, Prince 1980; dense output by Shampine 1986
    "dopri5": _Typed(
        5, (4,), 4, 7, 6,
        "0 1/5 3/10 4/5 8/9 1 1",
        """0; 1/5; 3/40 9/40; 44/45 -56/15 32/9; 19372/6561 -25360/2187 64448/6561 -212/729;
        9017/3168 -355/33 46732/5247 49/176 -5103/18656; 35/384 0 500/1113 125/192 -2187/6784 11/84""",
        "5179/57600 0 7571/16695 393/640 -92097/339200 187/2100 1/40",
        """-12715105075/11282082432 0 87487479700/32700410799 -10690763975/1880347072 701980252875/199316789632
        -1453857185/822651844 69997945/29380423""",
    ),
    # Dormand, Prince 1981, estimates and dense output by Hairer, Norsett, Wanner 1993; y_hat of orders 5 and 3
    "dop853": _Typed(
        8, (5, 3), 7, 13, 12,
        """0 0.0526001519587677318785587544488 0.0789002279381515978178381316732 0.118350341907227396726757197510
        0.281649658092772603273242802490 1/3 1/4 4/13 127/195 3/5 6/7 1 1 1/10 1/5 7/9""",
        """0; 0.0526001519587677318785587544488; 0.0197250569845378994544595329183 0.0591751709536136983633785987549;
        0.0295875854768068491816892993775 2:0.0887627564304205475450678981324;
        0.241365134159266685502369798665 2:-0.884549479328286085344864962717 0.924834003261792003115737966543;
        1/27 3:0.170828608729473871279604482173 0.125467687566822425016691814123;
        0.037109375 3:0.170252211019544039314978060272 0.0602165389804559606850219397283 -0.017578125;
        0.0370920001185047927108779319836 3:0.170383925712239993810214054705 0.107262030446373284651809199168
            -0.0153194377486244017527936158236 0.00827378916381402288758473766002;
        0.624110958716075717114429577812 3:-3.36089262944694129406857109825 -0.868219346841726006818189891453
            27.5920996994467083049415600797 20.1540675504778934086186788979 -43.4898841810699588477366255144;
        0.477662536438264365890433908527 3:-2.48811461997166764192642586468 -0.590290826836842996371446475743
            21.2300514481811942347288949897 15.2792336328824235832596922938 -33.2882109689848629194453265587
            -0.0203312017085086261358222928593;
        -0.93714243008598732571704021658 3:5.18637242884406370830023853209 1.09143734899672957818500254654
            -8.14978701074692612513997267357 -18.5200656599969598641566180701 22.7394870993505042818970056734
            2.49360555267965238987089396762 -3.0467644718982195003823669022;
        2.27331014751653820792359768449 3:-10.5344954667372501984066689879 -2.00087205822486249909675718444
            -17.9589318631187989172765950534 27.9488845294199600508499808837 -2.85899827713502369474065508674
            -8.87285693353062954433549289258 12.3605671757943030647266201528 0.643392746015763530355970484046;
        0.0542937341165687622380535766363 5:4.45031289275240888144113950566 1.89151789931450038304281599044
            -5.8012039600105847814672114227 0.31116436695781989440891606237 -0.152160949662516078556178806805
            0.201365400804030348374776537501 0.0447106157277725905176885569043;
        0.0561675022830479523392909219681 6:0.253500210216624811088794765333 -0.246239037470802489917441475441
            -0.124191423263816360469010140626 0.15329179827876569731206322685 0.00820105229563468988491666602057
            0.00756789766054569976138603589584 -0.008298;
        0.0318346481635021405060768473261 5:0.0283009096723667755288322961402 0.0535419883074385676223797384372
            -0.0549237485713909884646569340306 10:-0.000108347328697249322858509316994
            0.000382571090835658412954920192323 -0.000340465008687404560802977114492 0.141312443674632500278074618366;
        -0.428896301583791923408573538692 5:-4.69762141536116384314449447206 7.68342119606259904184240953878
            4.06898981839711007970213554331 0.356727187455281109270669543021 12:-0.00139902416515901462129418009734
            2.9475147891527723389556272149 -9.15095847217987001081870187138""",
        """0.0411736891223738815055525466763 5:5.67546933912861332216170925866 2.38727684897175057456422398564
            -7.4655811424655713184287418377 0.66149321570779357609756479137 -0.486340068375533557585910690905
            0.119442194318914635909069111371 0.0670659235916588857765328353543;
        31/127 8:12675/17272 11:3/136""",
        """-8.4289382761090128651353491142 5:0.5667149535193777696253178359 -3.0689499459498916912797304727
            2.384667656512069828772814968 2.1170345824450282767155149946 -0.8713915837779729920678990749
            2.240437430260788275854177165 0.6315787787694688181557024929 -0.0889903364513333108206981174
            18.148505520854727256656404962 -9.1946323924783554000451984436 -4.4360363875948939664310572;
        10.427508642579134603413151009 5:242.28349177525818288430175319 165.20045171727028198505394887
            -374.54675472269020279518312152 -22.113666853125306036270938578 7.7334326684722638389603898808
            -30.674084731089398182061213626 -9.3321305264302278729567221706 15.697238121770843886131091075
            -31.139403219565177677282850411 -9.3529243588444783865713862664 35.81684148639408375246589854;
        19.985053242002433820987653617 5:-387.03730874935176555105901742 -189.17813819516756882830838328
            527.80815920542364900561016686 -11.573902539959630126141871134 6.8812326946963000169666922661
            -1.000605096691083840318386098 0.7777137798053443209286926574 -2.7782057523535084065932004339
            -60.196695231264120758267380846 84.320405506677161018159903784 11.99229113618278932803513003;
        -25.693933462703749003312586129 5:-154.18974869023643374053993627 -231.52937917604549567536039109
            357.6391179106141237828534991 93.405324183624310003907691704 -37.458323136451633156875139351
            104.09964950896230045147246184 29.840293426660503123344363579 -43.533456590011143754432175058
            96.3245539591882829483949506 -39.177261675615439165231486172 -149.72683625798562581422125276""",
    ),
}  # fmt: skip
