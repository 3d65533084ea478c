"""Browser: Chromium without a window, driven by its DevTools protocol over two pipes; no further library is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from saltus.errors import SaltusError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SWITCHES = (
    "--headless=new", "--disable-gpu",
    "--enable-unsafe-swiftshader", "--hide-scrollbars", "--mute-audio", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-dev-shm-usage", "--force-color-profile=srgb", "--remote-debugging-pipe",
)  # fmt: skip


def chromium() -> str | None:
    """Return the path of a Chromium on this machine, or None."""
    named = os.environ.get("SALTUS_CHROMIUM")
    if named is not None:
        return shutil.which(named)
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def _started(command: list[str]) -> tuple[int, int, int]:
    """Start Chromium, which reads commands from descriptor 3 and writes answers to 4: its number and our two ends."""
    import fcntl  # not on Windows, where there is no film by Chromium

    pipes = [os.pipe(), os.pipe()]
    (commands, to), (answers, into) = pipes
    # out of the way of 3 and 4, whatever else is open
    far = [fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 10) for handle in (commands, into)]
    actions = [
        *((os.POSIX_SPAWN_OPEN, k, os.devnull, os.O_RDWR, 0) for k in range(3)),
        *((os.POSIX_SPAWN_DUP2, handle, k) for handle, k in zip(far, (3, 4), strict=True)),
    ]
    try:
        pid = os.posix_spawn(command[0], [*command, "about:blank"], os.environ, file_actions=actions)
    except OSError as error:
        os.close(to)
        os.close(answers)
        raise BrowserError(f"{command[0]} cannot be started: {error.strerror}") from error
    finally:
        for handle in (commands, into, *far):
            os.close(handle)
    return pid, to, answers


class BrowserError(SaltusError, RuntimeError):
    """Chromium did not do what was asked."""


class Browser:
    """One Chromium with one page; use it in a `with` block.

    width, height: of the page [pixels]; dark: whether it asks for dark colours.
    """

    def __init__(self, width: int = 1280, height: int = 720, *, dark: bool = False, path: str | None = None):
        program = path or chromium()
        if program is None:
            raise BrowserError("there is no Chromium on this machine: install it (Debian: apt install chromium)")
        self._folder = tempfile.TemporaryDirectory(prefix="saltus_chromium_", ignore_cleanup_errors=True)
        switches = (*SWITCHES, "--no-sandbox") if os.geteuid() == 0 else SWITCHES  # root has no sandbox in Chromium
        self._pid, self._to, self._from = _started([program, *switches, f"--user-data-dir={self._folder.name}"])
        self._rest, self._count, self._session = b"", 0, None
        self.requests: list[str] = []
        self.messages: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser that was started here."""
        for handle in (self._to, self._from):
            os.close(handle)
        end = time.monotonic() + 5.0
        while os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
                break
            time.sleep(0.01)
        self._folder.cleanup()

    def resize(self, width: int, height: int) -> None:
        """Give the page another size [pixels]."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def visit(self, page: str | Path, timeout: float = 60.0) -> None:
        """Open a file, and wait until its view is ready [s]."""
        self.requests.clear()
        self.messages.clear()
        self.call("Page.navigate", url=Path(page).resolve().as_uri())
        self.until("document.documentElement?.dataset.ready === 'yes'", timeout)

    def until(self, expression: str, timeout: float = 60.0) -> None:
        """Wait until an expression is true in the page [s]."""
        end = time.monotonic() + timeout
        while not self.run(expression):
            if time.monotonic() > end:
                raise BrowserError(f"the page did not reach {expression!r} in {timeout} s: {self.messages}")
            time.sleep(0.01)

    def run(self, expression: str, timeout: float = 120.0) -> Any:
        """Return the value of an expression in the page, a promise awaited."""
        made = self.call(
            "Runtime.evaluate", timeout=timeout, expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in made:
            said = made["exceptionDetails"]
            raise BrowserError(said.get("exception", {}).get("description") or said.get("text"))
        return made["result"].get("value")

    def picture(self, kind: str = "png", quality: int | None = None) -> bytes:
        """Return what the page looks like."""
        options = {} if quality is None else {"quality": quality}
        # packed quickly rather than well: films are packed again
        made = self.call("Page.captureScreenshot", format=kind, optimizeForSpeed=True, **options)
        return base64.b64decode(made["data"])

    def call(self, method: str, timeout: float = 60.0, **parameters: Any) -> dict[str, Any]:
        """Send one command of the protocol and return its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        rest = memoryview(json.dumps(message).encode() + b"\0")
        while len(rest):
            rest = rest[os.write(self._to, rest) :]
        end = time.monotonic() + timeout
        while True:
            answer = self._next(end, method)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            self._note(answer)

    def _next(self, end: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._from, 1 << 20) if ready else b""
            if not part:
                why = "ended" if ready else "gave no answer"
                raise BrowserError(f"Chromium {why} while it was asked for {method}")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, message: dict[str, Any]) -> None:
        """Keep what the page asked of the network and what it wrote to its console."""
        method, given = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent" and not given["request"]["url"].startswith(
            ("file:", "data:", "about:")
        ):
            self.requests.append(given["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(one.get("value", one.get("description"))) for one in given["args"]))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(str(given["exceptionDetails"].get("exception", {}).get("description")))
        elif method == "Log.entryAdded" and "GL Driver Message (OpenGL, Performance" not in given["entry"]["text"]:
            # without a GPU the driver itself notes that pixels are read back: no message of the page
            self.messages.append(given["entry"]["text"])
