"""`rememberd doctor`: is everything in working order, and what to do about what is not.

The owner of the data directory looks at the storage (`engine/diagnosis.py`); here is what only a
client can see: files, ports, and whether the public URL leads to us and to nothing else.
"""

from __future__ import annotations

import os
from typing import Any

import typer
from rich.text import Text

from rememberd.cli import listeners, options, output
from rememberd.cli.checks import Check, check
from rememberd.cli.options import AsJson, Data
from rememberd.cli.outside import look_at
from rememberd.cli.owner import Owner, ask_owner
from rememberd.errors import AddressUnavailable, InvalidInput, RememberdError
from rememberd.settings import Settings, find_config_file

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}


def doctor(context: typer.Context, as_json: AsJson = False, data: Data = None) -> None:
    """Check everything, with a real round trip in a vault made for it and erased after it.

    A running server is also looked at through its public URL, as apps do. Ends with code 1 when a
    check failed.

    Example: rememberd doctor
    """
    settings = options.load(context, data)
    checks = [_config_file(), *_examine(settings)]
    if as_json:
        output.document({"checks": checks})
    else:
        output.table(None, map(_row, checks))
    if any(one["outcome"] == "failed" for one in checks):
        raise typer.Exit(1)


def _config_file() -> Check:
    file = find_config_file(os.environ)
    return check("config file", "ok", str(file) if file else "none; defaults and environment")


def _examine(settings: Settings) -> list[Check]:
    async def ask(owner: Owner) -> list[Check]:
        facts = await owner.get("/owner")
        found = (await owner.post("/diagnosis", {}, repeatable=True))["checks"]
        if facts["role"] != "server":
            return [*found, *_without_server(settings)]
        documents = (await owner.get("/discovery"))["documents"]
        outside = await look_at(facts["public_url"], facts["mounts"], documents)
        return [*found, _server(settings, facts), *outside]

    try:
        return ask_owner(settings, ask)
    except RememberdError as error:
        return [check("data directory", "failed", error.message)]


def _server(settings: Settings, facts: dict[str, Any]) -> Check:
    told = f"process {facts['pid']}, version {facts['version']}"
    if settings.public_url in (None, facts["public_url"]):
        return check("server", "ok", told)
    detail = f"{told}: its public_url is {facts['public_url']}, here it is {settings.public_url}."
    return check("server", "warning", detail, "Start it again with the same settings.")


def _without_server(settings: Settings) -> list[Check]:
    return [
        check("server", "skipped", "None runs on this data directory."),
        _port(settings),
        check("public url", "skipped", "Not reached: no server runs."),
    ]


def _port(settings: Settings) -> Check:
    try:
        for listener in listeners.tcp(settings.host, settings.port):
            listener.close()
    except (AddressUnavailable, InvalidInput) as error:
        return check("port", "failed", error.message, "The settings are host and port.")
    return check("port", "ok", f"{settings.port} is free.")


def _row(one: Check) -> list[output.Cell]:
    advice = f"\n{one['advice']}" if one["advice"] else ""
    mark = Text(one["outcome"], _COLOURS[one["outcome"]])
    return [mark, one["name"], Text.assemble(one["detail"], (advice, "dim"))]
