"""saltus resume: go on with a run from its checkpoint."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from saltus.cli import checkpoints, settings
from saltus.cli.report import finish
from saltus.errors import SettingError


def resume_command(
    file: Annotated[str | None, Parameter(name="FILE", help="What saltus run --checkpoint FILE wrote.")] = None,
    /,
    *,
    plot: Annotated[str | None, Parameter(metavar="FILE", help="Draw the whole run into .png, .pdf or .svg.")] = None,
    save: Annotated[
        str | None, Parameter(metavar="FILE", help="Write the whole solution, to be read by saltus.load().")
    ] = None,
) -> int:
    """Go on with a run that was interrupted, from its last checkpoint to the end of its span.

    This executes the model file that FILE.json beside the checkpoint names (FILE.py:NAME of saltus run), with all
    rights that you have: resume only what you trust. One line says which file it is before it runs.
    """
    if file is None:
        raise SettingError("FILE is missing: name what saltus run --checkpoint FILE wrote")
    note = checkpoints.note_of(file)
    problem = settings.rebuilt(note)
    settings.check_files(save)
    settings.check_picture(plot)
    from saltus.solve import resume

    return finish(lambda: resume(file, problem), save, plot, note)
