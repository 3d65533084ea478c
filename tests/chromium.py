"""Chromium for the tests of pages: `python tests/chromium.py` installs it where that is possible, and says where it is.

On Debian as root it is installed by apt-get; elsewhere nothing happens. It never fails: what needs a browser is then
skipped, with one reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from saltus.view.browser import chromium

REASON = "no Chromium on this machine (make chromium installs it on Debian, as root)"
needs_chromium = pytest.mark.skipif(chromium() is None, reason=REASON)


def install() -> str | None:
    """Install Chromium by apt-get where it is missing and that is allowed; return where it is."""
    found = chromium()
    apt = shutil.which("apt-get")
    if (
        found
        or apt is None
        or not hasattr(os, "geteuid")
        or os.geteuid() != 0
        or not os.path.exists("/etc/debian_version")
    ):
        return found
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        [apt, "install", "-y", "-qq", "--no-install-recommends", "chromium"],
        [apt, "update", "-qq"],
        [apt, "install", "-y", "-qq", "--no-install-recommends", "chromium"],
    ):
        try:
            made = subprocess.run(command, env=environment, capture_output=True, timeout=600)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return None
        if made.returncode == 0 and chromium():
            break
    return chromium()


if __name__ == "__main__":
    place = install()
    print(f"chromium: {place}" if place else f"chromium: {REASON}")
    sys.exit(0)
