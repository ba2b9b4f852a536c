"""`rememberd serve`: the server, until it is told to stop; here is what it says at its start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from rich.text import Text

from rememberd import __version__
from rememberd.cli import options, output
from rememberd.cli.options import Data
from rememberd.cli.program import command
from rememberd.settings import Settings

if TYPE_CHECKING:
    from rememberd.app import App

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def serve(
    context: typer.Context,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1 and ::1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 picks a free one.", show_default="8420")
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(help="URL that clients use.", show_default="http://localhost:PORT"),
    ] = None,
    data: Data = None,
) -> None:
    """Run the server. Every setting can also come from the environment or a config file.

    Example: rememberd serve --public-url https://memory.example.com
    """
    settings = options.load(context, data, quiet=False, host=host, port=port, public_url=public_url)
    # The whole server: no other command must pay 0.4 s for it.
    from rememberd.cli import hosting  # noqa: PLC0415

    hosting.serve(settings, lambda app, setup: _greet(settings, app, setup))


def _greet(settings: Settings, app: App, setup: str | None) -> None:
    url = app.engine.public_url
    output.result(output.bold(f"rememberd {__version__}"))
    output.facts(
        [("MCP", Text(f"{url}/mcp", "cyan")), ("Data", str(app.engine.store.directory.root))]
    )
    vault = app.first_vault.name if app.first_vault else "NAME"
    if setup is not None:
        output.note()
        output.note(output.dim("Open this once, within a day, to make your account:"))
        output.note(Text(f"  {url}/setup?token={setup}", "cyan"))
    output.note()
    output.note(output.dim("Apps that cannot sign in take a key instead:"))
    output.note(f"  {command(settings, f'key create --vault {vault}')}")
    output.note(Text("  ") + output.claude_line(url, "mk_…"))
    if app.first_vault:
        output.note()
        output.warning(
            "master.key in the data directory opens every vault. Whoever loses it and every key "
            f"export loses them all: run `{command(settings, 'keys export FILE')}` and keep the "
            "file elsewhere."
        )
    if settings.host not in _LOOPBACK and urlsplit(url).scheme != "https":
        output.warning(
            f"Others can reach {settings.host}, and keys travel in clear. Put TLS in front and say "
            "--public-url https://…"
        )
