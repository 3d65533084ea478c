"""Controls: what decides from a finished step whether it counts and how long the next one is."""

from saltus.control.adaptive import Adaptive
from saltus.control.fixed import Fixed
from saltus.control.grid import Grid
from saltus.control.proposed import Proposed
from saltus.control.richardson import Richardson
from saltus.control.variable_order import VariableOrder

__all__ = ["Adaptive", "Fixed", "Grid", "Proposed", "Richardson", "VariableOrder"]
