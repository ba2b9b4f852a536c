"""Options that several commands share, and the settings and the vault that they lead to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from rememberd import log, settings
from rememberd.cli.owner import Owner
from rememberd.errors import InvalidInput, NotFound
from rememberd.settings import Settings

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Data directory.", show_default=False),
]
VaultName = Annotated[
    str | None,
    typer.Option(
        "--vault",
        envvar="REMEMBERD_VAULT",
        help="Vault by name; not needed while there is only one.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def load(
    context: typer.Context, data: Path | None, *, quiet: bool = True, **flags: Any
) -> Settings:
    """The settings of this run; `--data` may stand before the verb as well.

    Logs go to standard error; of a `quiet` command only warnings, unless the settings say more.
    """
    flags["data"] = data or context.find_root().params.get("data")
    loaded = settings.load(flags, os.environ)
    level = "warning" if quiet and "log_level" not in loaded.model_fields_set else loaded.log_level
    as_json = None if loaded.log_format == "auto" else loaded.log_format == "json"
    log.configure(level, json_lines=as_json)
    return loaded


async def choose_vault(owner: Owner, name: str | None) -> str:
    """`name`, or the only vault. Raises InvalidInput that lists them when there are several."""
    if name:
        return name
    names = await _names(owner)
    if not names:
        raise NotFound("There is no vault. Make one: rememberd vault create NAME")
    if len(names) > 1:
        raise InvalidInput(f"Which vault? Say --vault with one of: {', '.join(names)}.")
    return names[0]


async def require_vault(owner: Owner, name: str) -> None:
    """Raises NotFound that lists the vaults there are."""
    names = await _names(owner)
    if name not in names:
        raise NotFound(f"There is no vault {name}. There are: {', '.join(names) or 'none'}.")


async def _names(owner: Owner) -> list[str]:
    return [vault["name"] for vault in (await owner.get("/vaults"))["vaults"]]


def as_utf8(given: bytes) -> str:
    """What was typed or piped, whatever the locale says; what is not UTF-8 becomes U+FFFD."""
    return given.decode("utf-8", "replace")


def segment(text: str) -> str:
    """Text as one segment of a URL's path."""
    return quote(text, safe="")
