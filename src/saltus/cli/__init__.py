"""The command line `saltus`: run, convergence, work-precision, reproduce and others; one file per command.

Exit codes: 0 done, 1 a run failed, 2 something typed is wrong, 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import sys
import traceback
from typing import NamedTuple

from saltus.errors import FileFormatError, MissingExtraError, ModelError, RunError, SettingError


class _Exit(NamedTuple):
    """Exit codes; 130 is what shells expect after Ctrl-C."""

    done: int = 0
    failed: int = 1
    mistyped: int = 2
    interrupted: int = 130


EXIT = _Exit()

HELP = """Integrate mechanical systems with impacts, contact and friction.

$ saltus list problems                              what can be run
$ saltus run zeno-ball --tol 1e-8 --plot ball.png   run one and draw it
$ saltus run zeno-ball --help                       its parameters
$ saltus run zeno-ball --save run.h5                keep it for info, plot, events
"""
EPILOGUE = "--debug shows the whole traceback of an error. Exit codes: 0 done, 1 run failed, 2 wrong input, 130 Ctrl-C."


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = [_dashed(word) for word in (sys.argv[1:] if arguments is None else arguments)]
    debug = "--debug" in words
    tokens = [word for word in words if word != "--debug"]
    try:
        return _dispatch(tokens)
    except KeyboardInterrupt:
        print("saltus: interrupted", file=sys.stderr)
        return EXIT.interrupted
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; Python would complain about it at its end
        return EXIT.failed
    except Exception as error:
        if debug:
            traceback.print_exc()
        mistyped = isinstance(error, ModelError | SettingError | MissingExtraError | FileFormatError)
        text = " ".join(str(error).split())
        if not mistyped and not isinstance(error, RunError | OSError):
            text = f"unexpected {type(error).__name__}: {text} (--debug says where)"
        print(f"saltus: {text}", file=sys.stderr)
        return EXIT.mistyped if mistyped else EXIT.failed


def _dispatch(tokens: list[str]) -> int:
    from cyclopts import CycloptsError

    from saltus.cli.application import application, explain

    app = application(tokens)
    try:
        code = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        raise SettingError(explain(error, tokens)) from error
    return EXIT.done if code is None else int(code)


def _dashed(token: str) -> str:
    """Return an option with dashes, however it was typed: --t_end is --t-end."""
    if not token.startswith("--"):
        return token
    name, equals, value = token.partition("=")
    return name.replace("_", "-") + equals + value
