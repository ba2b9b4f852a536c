"""Verbs about proof: what was done and by whom, are the audit chains whole, what does an erasure
certificate say.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

import typer
from rich.text import Text

from rememberd.cli import options, output
from rememberd.cli.options import AsJson, Data
from rememberd.cli.owner import ask_owner

audit = typer.Typer(no_args_is_help=True, help="Proof: audit chains and erasure certificates.")


@audit.command("list")
def list_entries(
    context: typer.Context,
    vault: Annotated[
        str | None,
        typer.Option("--vault", metavar="NAME", help="Of this vault, not of the server."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="Entries at most.", min=1, max=1000)] = 50,
    before: Annotated[
        int | None, typer.Option("--before", metavar="NUMBER", help="Older than this one.", min=1)
    ] = None,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """List what was done, by whom and when, the newest first.

    The server's own chain holds sign-ins, consents, connections, keys, members and erasures; a
    vault's holds what was emptied in it.

    Example: rememberd audit list --limit 20
    """
    wanted = {"limit": limit, "before": before, "vault": vault}
    asked = urlencode({name: value for name, value in wanted.items() if value is not None})
    found = ask_owner(
        options.load(context, data), lambda owner: owner.get(f"/audit/entries?{asked}")
    )
    if as_json:
        return output.document(found)
    rows = [_shown(row, found["names"]) for row in found["entries"]]
    output.table(("number", "when (UTC)", "who", "did", "to", "detail"), rows)


def _shown(row: dict[str, Any], names: dict[str, str]) -> tuple[str, ...]:
    """One entry, with the names of what its ids stand for."""
    actor: str = row["actor"]
    subject: str = row["subject"]
    detail = {name: _plain(value) for name, value in row["detail"].items()}
    return (
        str(row["seq"]),
        row["at"][:19].replace("T", " "),
        names.get(actor, actor),
        row["action"],
        "" if subject == actor else names.get(subject, subject),
        ", ".join(f"{name} {names.get(text, text)}" for name, text in detail.items()),
    )


def _plain(value: str | int | list[str]) -> str:
    return output.scopes(value) if isinstance(value, list) else str(value)


@audit.command("verify")
def verify(context: typer.Context, as_json: AsJson = False, data: Data = None) -> None:
    """Walk every audit chain, control's and each vault's; exit 1 when one was tampered with.

    Example: rememberd audit verify
    """
    found = ask_owner(options.load(context, data), lambda owner: owner.get("/audit"))
    if as_json:
        output.document(found)
    else:
        output.table(
            ("chain", "rows", "head", "result"),
            [
                (
                    chain["name"],
                    str(chain["rows"]),
                    chain["head"][:12],
                    _result(chain),
                )
                for chain in found["chains"]
            ],
        )
    if any(chain["problem"] for chain in found["chains"]):
        raise typer.Exit(code=1)


def _result(chain: dict[str, Any]) -> str | Text:
    if chain["problem"]:
        return Text(chain["problem"], "bold red")
    return Text(f"whole. {chain['note']}", "yellow") if chain["note"] else "whole"


@audit.command("certificate")
def certificate(
    context: typer.Context,
    certificate_id: Annotated[str, typer.Argument(metavar="ID", help="Its id.")],
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Show an erasure certificate again.

    Example: rememberd audit certificate crt_01a2…
    """
    path = f"/certificates/{options.segment(certificate_id)}"
    found = ask_owner(options.load(context, data), lambda owner: owner.get(path))
    if as_json:
        return output.document(found)
    output.certificate(found)
