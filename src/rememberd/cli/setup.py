"""`rememberd setup`: the first account, by a link for a browser or right here."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.text import Text

from rememberd.cli import options, output
from rememberd.cli.options import AsJson, Data
from rememberd.cli.owner import ask_owner
from rememberd.cli.program import command
from rememberd.errors import Conflict, InvalidInput
from rememberd.settings import Settings


def setup(
    context: typer.Context,
    email: Annotated[
        str | None,
        typer.Option(help="Make the account here; without it you get a link.", show_default=False),
    ] = None,
    name: Annotated[str, typer.Option(help="Your name, for the people you share with.")] = "",
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Make the first account; it owns every vault made so far. Once, at the beginning.

    Example: rememberd setup --email you@example.com --password-stdin < password.txt
    """
    settings = options.load(context, data)
    if email is None:
        made = ask_owner(settings, lambda owner: owner.post("/setup", {}))
        return _show_link(settings, made, as_json=as_json)
    body = {"email": email, "name": name, "password": _password(from_stdin=password_stdin)}
    made = ask_owner(settings, lambda owner: owner.post("/accounts", body))
    if as_json:
        return output.document(made)
    output.result("Made the account of", output.bold(made["email"]))
    output.note("Recovery codes, each good for one sign-in. They are shown once; write them down:")
    for code in made["recovery_codes"]:
        output.result(f"  {code}")
    _warn_about_keys(settings)


def _show_link(settings: Settings, made: dict[str, Any], *, as_json: bool) -> None:
    link = made["setup_link"]
    if link is None:
        raise Conflict(
            "This server is set up already. Its owner invites others on the page /members."
        )
    if as_json:
        return output.document(made)
    output.note("Open this link once, within a day, to make the first account:")
    output.result(Text(link, "cyan"))
    _warn_about_keys(settings)


def _warn_about_keys(settings: Settings) -> None:
    output.warning(
        "Signing in does not bring lost keys back. Whoever loses the master key and every key "
        f"export loses all vaults: run `{command(settings, 'keys export FILE')}` and keep the file "
        "elsewhere."
    )


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise InvalidInput("Nobody is here to type a password; see --password-stdin.")
    return typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
