"""Contact problems and their solvers: one solver per file, one yardstick for all."""

from saltus.contact.direct import Direct
from saltus.contact.lemke import Lemke
from saltus.contact.nsgs import NSGS
from saltus.contact.portfolio import Portfolio
from saltus.contact.problem import ContactProblem, ContactResult
from saltus.contact.semismooth_newton import SemismoothNewton

__all__ = ["NSGS", "ContactProblem", "ContactResult", "Direct", "Lemke", "Portfolio", "SemismoothNewton"]
