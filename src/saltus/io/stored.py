"""What a loaded solution knows of its system and scheme: names and numbers, no functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError

if TYPE_CHECKING:
    from saltus.mechanics.scene import Scene
    from saltus.view.sketch import Sketch


@dataclasses.dataclass(frozen=True)
class StoredContact:
    """Name, restitution and friction of a contact; `mu` is a pair where friction is elliptic, `mu_r` of rolling."""

    name: str
    e: float
    mu: float | tuple[float, ...]
    mu_r: float | None = None

    @property
    def sliding(self) -> tuple[float, ...]:
        """The numbers of sliding friction."""
        return self.mu if isinstance(self.mu, tuple) else (self.mu,)


@dataclasses.dataclass(frozen=True)
class StoredJoint:
    """Name of a joint."""

    name: str


@dataclasses.dataclass(frozen=True)
class StoredSystem:
    """The names of a system; `q_dot` answers only where dense output asks, None when it is v itself."""

    name: str | None
    contacts: tuple[StoredContact, ...]
    joints: tuple[StoredJoint, ...]
    q_dot: Callable | None
    coordinates: tuple[str, ...] | None = None
    units: tuple[str, ...] | None = None
    scene: Scene | Sketch | None = None

    def laws(self, values: Any = None) -> np.ndarray:
        """Return (e, mu, e_t) of every contact, one row each, as they were in the run; files do not keep e_t."""
        return np.array([(contact.e, contact.sliding[0], np.nan) for contact in self.contacts]).reshape(
            len(self.contacts), 3
        )

    @property
    def rate_is_velocity(self) -> bool:
        """Whether q_dot = v."""
        return self.q_dot is None

    @property
    def contact_names(self) -> tuple[str, ...]:
        return tuple(contact.name for contact in self.contacts)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(joint.name for joint in self.joints)


@dataclasses.dataclass(frozen=True)
class StoredScheme:
    """A scheme that is not part of saltus: its name and settings, without its interpolation."""

    name: str
    description: Any

    def interpolate(self, s, h, start, end, block, side):
        raise self._unknown

    @property
    def _unknown(self) -> SettingError:
        return SettingError(
            f"the scheme {self.name!r} of the file is not part of saltus: ask for times of the grid, or solve again"
        )


@dataclasses.dataclass(frozen=True)
class StoredForceScheme(StoredScheme):
    """A scheme that is not part of saltus and described its forces inside of steps: averages would not be the same."""

    def reaction(self, s, h, block, rows, side):
        raise self._unknown
