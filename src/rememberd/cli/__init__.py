"""The command line: each verb parses, asks the owner of the data directory, and prints.

It must hold no memory logic: whatever an app can do, it does through the same tools.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from rememberd import __version__, settings
from rememberd.cli import exits, memories, options, output, registry
from rememberd.cli.accounts import accounts
from rememberd.cli.audit import audit
from rememberd.cli.doctor import doctor
from rememberd.cli.keyring import keyring
from rememberd.cli.options import Data
from rememberd.cli.proof import prove
from rememberd.cli.serve import serve
from rememberd.cli.setup import setup
from rememberd.cli.stdio import stdio
from rememberd.errors import RememberdError

app = typer.Typer(
    name="rememberd",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="One memory for all your AI apps, on your own machine.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        output.result(f"rememberd {__version__}")
        raise typer.Exit


@app.callback()
def everywhere(
    data: Data = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """One memory for all your AI apps, on your own machine."""
    if unknown := settings.unknown_names(os.environ):
        output.warning(f"Ignored, since no setting has this name: {', '.join(unknown)}.")


_RUN, _MEMORIES, _OWNER = "Run", "Memories", "Vaults, keys and accounts"
app.command(rich_help_panel=_RUN)(serve)
app.command(rich_help_panel=_RUN)(setup)
app.command(rich_help_panel=_RUN)(stdio)
app.command("try", rich_help_panel=_RUN)(prove)
app.command(rich_help_panel=_RUN)(doctor)
app.command(rich_help_panel=_MEMORIES)(memories.add)
app.command(rich_help_panel=_MEMORIES)(memories.search)
app.command(rich_help_panel=_MEMORIES)(memories.status)
app.command(rich_help_panel=_MEMORIES)(memories.forget)
app.add_typer(registry.vaults, name="vault", rich_help_panel=_OWNER)
app.add_typer(registry.projects, name="project", rich_help_panel=_OWNER)
app.add_typer(registry.keys, name="key", rich_help_panel=_OWNER)
app.add_typer(accounts, name="account", rich_help_panel=_OWNER)
app.add_typer(keyring, name="keys", rich_help_panel=_OWNER)
app.add_typer(audit, name="audit", rich_help_panel=_OWNER)


def main() -> None:
    """Run, and end with a code of `exits.py`; an error is one line, never a traceback."""
    output.survive_any_locale()
    sys.argv[1:] = [options.as_utf8(os.fsencode(argument)) for argument in sys.argv[1:]]
    try:
        app()
    except RememberdError as error:
        output.error(error.message)
        sys.exit(exits.exit_code(error))
    except KeyboardInterrupt:
        sys.exit(exits.INTERRUPTED)
