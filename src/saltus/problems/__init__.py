"""The problem library: every name is a function of keyword-only parameters that returns a Problem."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from .bead_column import bead_column
from .belt import belt
from .block_stack import block_stack
from .bowl import bowl
from .circle_slide import circle_slide
from .clattering_rod import clattering_rod
from .coulomb_oscillator import coulomb_oscillator
from .damped_pendulum import damped_pendulum
from .double_pendulum import double_pendulum
from .double_pendulum_wall import double_pendulum_wall
from .driven_pendulum import driven_pendulum
from .forced_double_pendulum import forced_double_pendulum
from .forced_impact_oscillator import forced_impact_oscillator
from .four_bar import four_bar
from .free_flight import free_flight
from .impact_oscillator import impact_oscillator
from .impacting_bar import impacting_bar
from .incline_3d import incline_3d
from .kane_pendulum import kane_pendulum
from .newtons_cradle import newtons_cradle
from .painleve_rod import painleve_rod
from .paoli_ball import paoli_ball
from .rest_phase import rest_phase
from .rocking_block import rocking_block
from .rod_pendulum import rod_pendulum
from .rolling_sphere import rolling_sphere
from .simplest_walker import simplest_walker
from .slide_off import slide_off
from .slider_crank import slider_crank
from .sliding_block import sliding_block
from .spinning_top import spinning_top
from .tumbling_box import tumbling_box
from .two_walls import two_walls
from .valve_train import valve_train
from .vibrating_table import vibrating_table
from .woodpecker import woodpecker
from .zeno_ball import zeno_ball
from .zeno_oscillator import zeno_oscillator

if TYPE_CHECKING:
    from .mechanisms.chain import chain
    from .mechanisms.circuit_breaker import circuit_breaker
    from .mechanisms.four_bar_bodies import four_bar_bodies
    from .mechanisms.gear_rattle import gear_rattle
    from .mechanisms.slider_crank_bodies import slider_crank_bodies
    from .mechanisms.valve_train_bodies import valve_train_bodies

__all__ = [
    "bead_column",
    "belt",
    "block_stack",
    "bowl",
    "chain",
    "circle_slide",
    "circuit_breaker",
    "clattering_rod",
    "coulomb_oscillator",
    "damped_pendulum",
    "double_pendulum",
    "double_pendulum_wall",
    "driven_pendulum",
    "forced_double_pendulum",
    "forced_impact_oscillator",
    "four_bar",
    "four_bar_bodies",
    "free_flight",
    "gear_rattle",
    "impact_oscillator",
    "impacting_bar",
    "incline_3d",
    "kane_pendulum",
    "newtons_cradle",
    "painleve_rod",
    "paoli_ball",
    "rest_phase",
    "rocking_block",
    "rod_pendulum",
    "rolling_sphere",
    "simplest_walker",
    "slide_off",
    "slider_crank",
    "slider_crank_bodies",
    "sliding_block",
    "spinning_top",
    "tumbling_box",
    "two_walls",
    "valve_train",
    "valve_train_bodies",
    "vibrating_table",
    "woodpecker",
    "zeno_ball",
    "zeno_oscillator",
]


def __getattr__(name: str):
    """Import the problems made of bodies when one of them is first asked for: saltus.mechanics takes a while."""
    if name in __all__:
        return getattr(importlib.import_module("saltus.problems.mechanisms"), name)
    raise AttributeError(f"module 'saltus.problems' has no attribute {name!r}: it must be one of {', '.join(__all__)}")


def __dir__() -> list[str]:
    """Return the public names, so that completion shows these and nothing else."""
    return sorted([*__all__, "__doc__", "__file__", "__name__"])
