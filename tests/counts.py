"""How much a test makes: some of it in the suite, all of it with SALTUS_COUNTS=full (`make long`)."""

from __future__ import annotations

import os
from typing import TypeVar

Count = TypeVar("Count")
FULL = os.environ.get("SALTUS_COUNTS") == "full"


def counted(full: Count, some: Count) -> Count:
    """Return the full count, or what the suite takes: a member of every class, or a share of the random ones."""
    return full if FULL else some
