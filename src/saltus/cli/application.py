"""The commands as one cyclopts application, and its errors in one line each."""

from __future__ import annotations

from inspect import getdoc

from cyclopts import App, CycloptsError, UnknownCommandError, UnknownOptionError
from cyclopts.exceptions import MissingArgumentError, UnusedCliTokensError

from saltus.cli import EPILOGUE, HELP
from saltus.cli.catalogue import list_command
from saltus.cli.contact import CONTACT_COMMANDS as CONTACT_COMMANDS
from saltus.cli.contact import CONTACT_HELP as CONTACT_HELP
from saltus.cli.contact import USAGE as CONTACT_USAGE
from saltus.cli.contact import contact_commands
from saltus.cli.convergence import convergence_command
from saltus.cli.diagnose import diagnose_command
from saltus.cli.names import scheme_classes, suggestion
from saltus.cli.options import options_of
from saltus.cli.reproduce import reproduce_command
from saltus.cli.resume import resume_command
from saltus.cli.run import run_command
from saltus.cli.sweep import sweep_command
from saltus.cli.version import version_command
from saltus.cli.warm import compile_command
from saltus.cli.work_precision import work_precision_command

COMMAND_NAMES = (
    "run", "sweep", "convergence", "work-precision", "reproduce", "diagnose", "contact", "list", "compile", "resume",
    "version",
)  # fmt: skip


def application(tokens: list[str]) -> App:
    """Return the application; problem and schemes among the tokens decide about the options of some commands."""
    app = App(name="saltus", help=HELP, help_format="plaintext", help_epilogue=EPILOGUE, version_flags=[])
    mine = {name: tokens[1:] if tokens[:1] == [name] else [] for name in COMMAND_NAMES}
    commands = {
        "run": (run_command(mine["run"]), "PROBLEM --h NUMBER [OPTIONS]"),
        "sweep": (sweep_command(mine["sweep"]), "PROBLEM --NAME FROM:TO:COUNT [OPTIONS]"),
        "convergence": (convergence_command(mine["convergence"]), "PROBLEM --h-max NUMBER [OPTIONS]"),
        "work-precision": (work_precision_command(mine["work-precision"]), "PROBLEM [OPTIONS]"),
        "reproduce": (reproduce_command(), "NAME [OPTIONS]"),
        "diagnose": (diagnose_command(mine["diagnose"]), "PROBLEM [OPTIONS]"),
        "list": (list_command, "[problems|schemes|solvers|controls|reproductions]"),
        "compile": (compile_command, ""),
        "resume": (resume_command, "FILE [OPTIONS]"),
        "version": (version_command, ""),
    }
    for k, name in enumerate(COMMAND_NAMES):
        if name == "contact":
            app.command(_contact(mine[name], k))
            continue
        action, usage = commands[name]
        # the docstring as it is: a parser of docstrings would drop the examples
        app.command(action, name=name, help=getdoc(action), usage=f"Usage: saltus {name} {usage}", sort_key=k)
    return app


def _contact(tokens: list[str], place: int) -> App:
    """Return the commands about contact problems."""
    app = App(name="contact", help=CONTACT_HELP, help_format="plaintext", version_flags=[], sort_key=place)
    for k, (name, action) in enumerate(contact_commands(tokens).items()):
        usage = f"Usage: saltus contact {name} {CONTACT_USAGE[name]}"
        app.command(action, name=name, help=getdoc(action), usage=usage, sort_key=k)
    return app


def explain(error: CycloptsError, tokens: list[str]) -> str:
    """Return one line about what was typed wrongly, with the nearest thing that would be right."""
    where = tokens[0] if tokens and tokens[0] in COMMAND_NAMES else "saltus"
    if where == "contact" and len(tokens) > 1 and tokens[1] in CONTACT_COMMANDS:
        where = f"contact {tokens[1]}"
    if isinstance(error, UnknownOptionError):
        typed = (error.token.keyword or error.token.value or "").partition("=")[0]
        known = [name for argument in error.argument_collection for name in argument.names if name.startswith("--")]
        near = suggestion(typed, known) or _elsewhere(typed)
        return f"{where} has no option {typed} here{near} (saltus {where} --help lists them)"
    if isinstance(error, UnknownCommandError):
        typed, known = (tokens[1], CONTACT_COMMANDS) if where == "contact" else (tokens[0], COMMAND_NAMES)
        return f"no command is called {typed!r}{suggestion(typed, known)} (commands: {', '.join(known)})"
    if isinstance(error, UnusedCliTokensError):
        return f"{where} does not know what to do with {' '.join(error.unused_tokens or [])!r}: options begin with --"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return f"{error.argument.name} needs a value"
    error.verbose = False
    return str(error)


def _elsewhere(flag: str) -> str:
    """Say which schemes have an option that the chosen one lacks."""
    field = flag.lstrip("-").replace("-", "_")
    fields = {name: [o.field for o in options_of(kind, ("scheme",))] for name, kind in scheme_classes().items()}
    owners = [name for name in fields if field in fields[name]]
    return f": it belongs to --scheme {' or '.join(owners)}" if owners else ""
