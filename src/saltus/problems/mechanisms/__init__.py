"""Problems made of bodies and joints, which need saltus.mechanics; reached as `saltus.problems.NAME` as all are."""

from __future__ import annotations

from .chain import chain
from .circuit_breaker import circuit_breaker
from .four_bar_bodies import four_bar_bodies
from .gear_rattle import gear_rattle
from .slider_crank_bodies import slider_crank_bodies
from .valve_train_bodies import valve_train_bodies

__all__ = [
    "chain",
    "circuit_breaker",
    "four_bar_bodies",
    "gear_rattle",
    "slider_crank_bodies",
    "valve_train_bodies",
]
