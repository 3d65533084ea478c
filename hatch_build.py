"""The build hook of wheels: compiles all kernels and puts them into the wheel, which is then one for a platform.

A hook that fails (no numba for this Python, a processor that nobody knows) leaves a wheel without kernels, for every
platform: it installs, and kernels are built on first use. An editable install builds nothing: a checkout does that
itself, with a progress line (make kernels).
"""

from __future__ import annotations

import os
import pathlib
import platform
import subprocess
import sys
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEVELS = {"x86_64": ("x86-64-v2", "x86-64-v3"), "amd64": ("x86-64-v2", "x86-64-v3"), "aarch64": ("aarch64",),
          "arm64": ("arm64",)}  # fmt: skip
# objects need no C library of their own: the tag is that of the oldest system that Python wheels are made for
TAGS = {
    ("linux", "x86_64"): "manylinux_2_17_x86_64",
    ("linux", "aarch64"): "manylinux_2_17_aarch64",
    ("darwin", "arm64"): "macosx_11_0_arm64",
    ("darwin", "x86_64"): "macosx_10_12_x86_64",
    ("win32", "amd64"): "win_amd64",
}

# the path of the sources comes as an argument: in its isolated builds pip sets PYTHONPATH, and must find it as it was
BUILD = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from saltus.compile.build import main
sys.exit(main())
"""


class KernelHook(BuildHookInterface):
    """Compile kernels for a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict) -> None:
        if self.target_name != "wheel" or version == "editable" or os.environ.get("SALTUS_KERNELS") == "none":
            return
        machine = platform.machine().lower()
        tag, levels = TAGS.get((sys.platform, machine)), LEVELS.get(machine)
        if tag is None or levels is None:
            self.app.display_warning(f"saltus: no kernels are built for {sys.platform} on {machine}")
            return
        folder = self._folder()
        command = [sys.executable, "-c", BUILD, str(pathlib.Path(self.root, "src")), "--to", str(folder)]
        for level in levels:
            command += ["--level", level]
        try:
            subprocess.run(command, check=True, cwd=self.root)  # noqa: S603
        except (OSError, subprocess.SubprocessError) as error:
            self.app.display_warning(f"saltus: a wheel without kernels, they could not be built: {error}")
            return
        for name in ("manifest.json", *(f"{level}{part}.a" for level in levels for part in ("", "-texts"))):
            build_data["force_include"][str(folder / name)] = f"saltus/kernels/{name}"
        build_data["tag"] = f"py3-none-{tag}"
        build_data["pure_python"] = False

    def _folder(self) -> pathlib.Path:
        """Return where to build: in the checkout, so that what is there is not built again, else anywhere."""
        own = pathlib.Path(self.root, "src", "saltus", "kernels")
        if os.access(own.parent, os.W_OK):
            return own
        return pathlib.Path(tempfile.mkdtemp(prefix="saltus-"))
