"""Verbs about accounts, for whoever owns the data directory: who is there, and a way back in.

Nobody signs in here: a new way in is a recovery code, which its person uses on the page for that.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from rememberd.cli import options, output
from rememberd.cli.options import AsJson, Data
from rememberd.cli.owner import ask_owner

accounts = typer.Typer(no_args_is_help=True, help="Accounts: the people who can sign in.")


@accounts.command("list")
def list_accounts(context: typer.Context, as_json: AsJson = False, data: Data = None) -> None:
    """List the accounts, with the ways in that each has left.

    Example: rememberd account list
    """
    found = ask_owner(options.load(context, data), lambda owner: owner.get("/accounts"))
    if as_json:
        return output.document(found)
    rows = [
        (
            row["email"],
            row["name"],
            row["created_at"][:10],
            "yes" if row["password"] else "no",
            str(row["passkeys"]),
            str(row["recovery_codes"]),
            "disabled" if row["disabled"] else "",
        )
        for row in found["accounts"]
    ]
    heads = ("account", "name", "since", "password", "passkeys", "recovery codes", "")
    output.table(heads, rows)


@accounts.command("recover")
def recover(
    context: typer.Context,
    email: Annotated[str, typer.Argument(help="Its email.", metavar="EMAIL", show_default=False)],
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Make new recovery codes for somebody who lost password, passkeys and codes.

    The old codes are worth nothing from then on; password and passkeys stay as they are.

    Example: rememberd account recover you@example.com
    """
    made = ask_owner(
        options.load(context, data),
        lambda owner: owner.post("/accounts/recover", {"email": email}),
    )
    if as_json:
        return output.document(made)
    output.note("Recovery codes of", output.bold(made["email"]), "in place of all before.")
    output.note("Each is good for one sign-in. They are shown once; write them down:")
    for code in made["recovery_codes"]:
        output.result(f"  {code}")
    output.note("One of them sets a new password here:")
    output.note(Text(f"  {made['recovery_page']}", "cyan"))
