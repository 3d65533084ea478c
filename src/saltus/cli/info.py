"""saltus info: what a saved run is and how far it can be trusted."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from saltus.errors import SettingError

RUN_FILE = Parameter(name="RUN", help="What saltus run --save FILE or sol.save(FILE) wrote.")


def info_command(run: Annotated[str | None, RUN_FILE] = None, /) -> int:
    """Say what a saved run is and how far it can be trusted.

    $ saltus run zeno-ball --tol 1e-8 --save run.h5
    $ saltus info run.h5

    Scheme, span, steps, events of every contact, certificate, energy, parameters and settings of the run.
    """
    from saltus.cli.summary import rows_of
    from saltus.io.settings import describe

    solution = loaded(run)
    steps = solution.work["steps"]
    print(
        f"{solution.name or solution.system.name or 'system'} by {solution.scheme.name}: t = {solution.t[0]:g} to "
        f"{solution.t[-1]:g} s in {steps:,} step{'' if steps == 1 else 's'}, {len(solution.t):,} times kept"
    )
    rows = [("ended", solution.message.partition("\n")[0]), *rows_of(solution)]
    rows += [("coordinates", ", ".join(solution.system.coordinates))] if solution.system.coordinates else []
    rows.append(("work", ", ".join(f"{count:,} {name}" for name, count in solution.work.items())))
    for name, value in solution.parameters.items():
        rows.append(("parameter", f"{name} = {value}"))
    settings = describe(solution.scheme)
    given = settings.get("settings", {}) if isinstance(settings, dict) else {}
    shown = [f"{name} = {value}" for name, value in given.items() if isinstance(value, int | float | str)]
    rows += [("settings", ", ".join(shown))] if shown else []
    for name, text in rows:
        print(f"  {name:<12} {text}")
    if solution.system.contact_names:
        print("\n" + "\n".join(f"  {line}" for line in str(solution.events.summary()).splitlines()))
    return 0


def loaded(run: str | None):
    """Return the run that a file holds."""
    from saltus.io.results import load

    if run is None:
        raise SettingError("RUN is missing: name a file that saltus run --save FILE or sol.save(FILE) wrote")
    return load(run)
