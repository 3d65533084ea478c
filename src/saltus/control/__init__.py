"""Controls: what decides from a finished step whether it counts and how long the next one is."""

from saltus.control.adaptive import Adaptive
from saltus.control.fixed import Fixed
from saltus.control.grid import Grid
from saltus.control.proposed import Proposed
from saltus.control.richardson import Richardson
from saltus.control.variable_order import VariableOrder

__all__ = ["Adaptive", "Fixed", "Grid", "Proposed", "Richardson", "VariableOrder"]


def default_control(*, tolerant: bool) -> Fixed | VariableOrder:
    """Return the control of schemes that bring none: steps that follow a tolerance where there is one, else h."""
    return VariableOrder() if tolerant else Fixed()


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
