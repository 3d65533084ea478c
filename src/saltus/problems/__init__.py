"""The problem library: every name is a function of keyword-only parameters that returns a Problem."""

from __future__ import annotations

from .bead_column import bead_column
from .belt import belt
from .coulomb_oscillator import coulomb_oscillator
from .double_pendulum import double_pendulum
from .driven_pendulum import driven_pendulum
from .four_bar import four_bar
from .free_flight import free_flight
from .impact_oscillator import impact_oscillator
from .impacting_bar import impacting_bar
from .incline_3d import incline_3d
from .newtons_cradle import newtons_cradle
from .paoli_ball import paoli_ball
from .rest_phase import rest_phase
from .rod_pendulum import rod_pendulum
from .rolling_sphere import rolling_sphere
from .slider_crank import slider_crank
from .sliding_block import sliding_block
from .spinning_top import spinning_top
from .tumbling_box import tumbling_box
from .zeno_ball import zeno_ball
from .zeno_oscillator import zeno_oscillator

__all__ = [
    "bead_column",
    "belt",
    "coulomb_oscillator",
    "double_pendulum",
    "driven_pendulum",
    "four_bar",
    "free_flight",
    "impact_oscillator",
    "impacting_bar",
    "incline_3d",
    "newtons_cradle",
    "paoli_ball",
    "rest_phase",
    "rod_pendulum",
    "rolling_sphere",
    "slider_crank",
    "sliding_block",
    "spinning_top",
    "tumbling_box",
    "zeno_ball",
    "zeno_oscillator",
]
