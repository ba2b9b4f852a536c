"""Verbs about proof: are the audit chains whole, and what does an erasure certificate say."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from rememberd.cli import options, output
from rememberd.cli.options import AsJson, Data
from rememberd.cli.owner import ask_owner

audit = typer.Typer(no_args_is_help=True, help="Proof: audit chains and erasure certificates.")


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
                    Text(chain["problem"], "bold red") if chain["problem"] else "whole",
                )
                for chain in found["chains"]
            ],
        )
    if any(chain["problem"] for chain in found["chains"]):
        raise typer.Exit(code=1)


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
