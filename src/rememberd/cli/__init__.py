"""The command line: each verb parses, asks the owner of the data directory, and prints.

It must hold no memory logic: whatever an app can do, it does through the same tools.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rememberd import __version__
from rememberd.cli import exits, memories, output, registry
from rememberd.cli.doctor import doctor
from rememberd.cli.keyring import keyring
from rememberd.cli.options import Data
from rememberd.cli.proof import prove
from rememberd.cli.serve import serve
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


app.command()(serve)
app.command()(stdio)
app.command("try")(prove)
app.command()(doctor)
app.command()(memories.add)
app.command()(memories.search)
app.command()(memories.status)
app.command()(memories.forget)
app.add_typer(registry.keys, name="key")
app.add_typer(registry.vaults, name="vault")
app.add_typer(registry.projects, name="project")
app.add_typer(keyring, name="keys")


def main() -> None:
    """Run, and end with a code of `exits.py`; an error is one line, never a traceback."""
    try:
        app()
    except RememberdError as error:
        output.error(error.message)
        sys.exit(exits.exit_code(error))
    except KeyboardInterrupt:
        sys.exit(exits.INTERRUPTED)
