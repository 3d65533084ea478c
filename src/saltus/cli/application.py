"""The commands as one cyclopts application, and its errors in one line each."""

from __future__ import annotations

from inspect import getdoc

from cyclopts import App, CycloptsError, UnknownCommandError, UnknownOptionError
from cyclopts.exceptions import MissingArgumentError, UnusedCliTokensError

from saltus.cli import EPILOGUE, HELP
from saltus.cli.commands import COMMAND_NAMES, COMMANDS, CONTACT_COMMANDS, CONTACT_LINE


def application(tokens: list[str]) -> App:
    """Return the application; only the command that the tokens name is imported, of the others the help has a line.

    Problem and schemes among the tokens decide about the options of some commands.
    """
    app = App(name="saltus", help=HELP, help_format="plaintext", help_epilogue=EPILOGUE, version_flags=[])
    for k, name in enumerate(COMMAND_NAMES):
        asked = tokens[:1] == [name]
        if name == "contact":
            app.command(_contact(tokens[1:] if asked else None, k))
            continue
        known = COMMANDS[name]
        action = known.action(tokens[1:]) if asked else _elsewhere_defined
        # the docstring as it is: a parser of docstrings would drop the examples
        text = getdoc(action) if asked else known.line
        app.command(action, name=name, help=text, usage=f"Usage: saltus {name} {known.usage}", sort_key=k)
    return app


def _elsewhere_defined() -> None:
    """Stand for a command that was not asked for."""


def _contact(tokens: list[str] | None, place: int) -> App:
    """Return the commands about contact problems; None: one line of help."""
    if tokens is None:
        return App(name="contact", help=CONTACT_LINE, help_format="plaintext", version_flags=[], sort_key=place)
    from saltus.cli.contact import CONTACT_HELP, USAGE, contact_commands

    app = App(name="contact", help=CONTACT_HELP, help_format="plaintext", version_flags=[], sort_key=place)
    for k, (name, action) in enumerate(contact_commands(tokens).items()):
        usage = f"Usage: saltus contact {name} {USAGE[name]}"
        app.command(action, name=name, help=getdoc(action), usage=usage, sort_key=k)
    return app


def explain(error: CycloptsError, tokens: list[str]) -> str:
    """Return one line about what was typed wrongly, with the nearest thing that would be right."""
    from saltus.cli.names import suggestion  # here, because help needs no schemes

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
    from saltus.cli.names import scheme_classes
    from saltus.cli.options import options_of

    field = flag.lstrip("-").replace("-", "_")
    fields = {name: [o.field for o in options_of(kind, ("scheme",))] for name, kind in scheme_classes().items()}
    owners = [name for name in fields if field in fields[name]]
    return f": it belongs to --scheme {' or '.join(owners)}" if owners else ""
