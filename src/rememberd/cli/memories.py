"""Verbs for memories: add, search, status and forget, each a call of the tool that apps use."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from rememberd.cli import options, output
from rememberd.cli.calls import call
from rememberd.cli.options import AsJson, Data, VaultName, Yes
from rememberd.cli.owner import Owner, ask_owner
from rememberd.errors import InvalidInput

Found = dict[str, Any]
_TIERS = {1: "raw", 2: "reflection", 3: "high-level reflection"}


def add(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to remember; - reads standard input.")],
    vault: VaultName = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Label; repeat it.", show_default=False)
    ] = None,
    source_context: Annotated[
        str | None,
        typer.Option(help="Where it comes from, such as a conversation.", show_default=False),
    ] = None,
    occurred_at: Annotated[
        str | None,
        typer.Option(help="When it happened: ISO date or time, UTC.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Store a memory.

    Example: rememberd add "We deploy on Tuesdays." --tag work
    """
    arguments = {
        "content": options.as_utf8(sys.stdin.buffer.read()) if text == "-" else text,
        "tags": tag or [],
        "source_context": source_context,
        "occurred_at": occurred_at,
    }
    vault, kept = _call(context, data, vault, "store_memory", arguments)
    if as_json:
        return output.document({"vault": vault, **kept})
    output.result("Stored in", output.bold(vault))


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for, in plain words.")],
    vault: VaultName = None,
    limit: Annotated[int, typer.Option(help="Most results, 1 to 250.")] = 10,
    tier: Annotated[
        list[int] | None,
        typer.Option(
            "--tier",
            help="1 raw, 2 reflections, 3 high-level ones; repeat for several. Default: all.",
            show_default=False,
        ),
    ] = None,
    importance: Annotated[
        int | None,
        typer.Option(help="Least importance, 1 to 10; reflections only.", show_default=False),
    ] = None,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Search the memories by words and meaning, best first.

    Example: rememberd search "when do we deploy?"
    """
    arguments = {"query": query, "limit": limit, "tiers": tier or None, "importance": importance}
    vault, found = _call(context, data, vault, "search_memories", arguments)
    if as_json:
        return output.document({"vault": vault, **found})
    if not found["memories"]:
        output.note(f"Nothing found in {vault}.")
    output.table(None, map(_row, found["memories"]))


def status(
    context: typer.Context, vault: VaultName = None, as_json: AsJson = False, data: Data = None
) -> None:
    """Show what a vault holds, what it owes in reflection and how it is searched.

    Example: rememberd status --vault personal
    """
    vault, found = _call(context, data, vault, "memory_status", {})
    if as_json:
        return output.document({"vault": vault, **found})
    output.facts(_status_lines(vault, found))


def _status_lines(vault: str, found: Found) -> list[tuple[str, output.Cell]]:
    usage, reflection, search = found["usage"], found["reflection"], found["search"]
    allowance = usage.get("allowance")
    limit = f"of {allowance:,}" if allowance is not None else "no limit"
    ripe = "; worth reflecting on now" if reflection["consolidation_available"] else ""
    waiting = found["pendingIndex"]
    lines: list[tuple[str, output.Cell]] = [
        ("vault", Text.assemble((vault, "bold"), "  ", (found["vaultRef"], "dim"))),
        ("memories", f"{found['totalMemories']:,} ({found['totalTokens']:,} tokens)"),
        ("search", f"by {search['by']}" + (f", {waiting:,} still to embed" if waiting else "")),
        (
            "reflection",
            output.count(reflection["debt"]["memories"], "memory", "memories")
            + f" not reflected on{ripe}",
        ),
        ("usage", f"{usage['tokens']:,} tokens in {usage['month']}, {limit}"),
    ]
    if search.get("note"):
        lines.append(("note", search["note"]))
    if search.get("host"):
        lines.append(("sent to", search["host"]))
    return lines


def forget(
    context: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids, as search shows them.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Empty the whole vault.")] = False,
    vault: VaultName = None,
    yes: Yes = False,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Delete memories for good, after showing them; --all empties the vault, with proof.

    Example: rememberd forget mem_0192…
    """
    if bool(ids) == everything:
        raise InvalidInput("Say which memories by id, or --all.")
    if ids:
        done = _forget_some(context, data, vault, ids, yes=yes)
    else:
        done = _forget_all(context, data, vault, yes=yes)
    if as_json:
        output.document(done)


def _forget_some(
    context: typer.Context, data: Any, vault: str | None, ids: list[str], *, yes: bool
) -> Found:
    settings = options.load(context, data)

    async def look(owner: Owner) -> tuple[str, list[Found]]:
        name = await options.choose_vault(owner, vault)
        return name, [
            (await call(owner, name, "inspect_memory", {"memory_id": memory_id}))["memory"]
            for memory_id in dict.fromkeys(ids)
        ]

    name, going = ask_owner(settings, look)
    output.table(None, map(_row, going), beside=True)
    output.require_yes(yes=yes, question=f"Delete {_these(len(going))} from {name}?")
    arguments = {"memory_ids": [memory["id"] for memory in going], "confirmation": "DELETE"}
    done = ask_owner(settings, lambda owner: call(owner, name, "delete_memories", arguments))
    output.note(f"Deleted {_these(done['deleted'])}.")
    if done["surviving_reflections"]:
        output.note("These reflections may quote it:", ", ".join(done["surviving_reflections"]))
    return {"vault": name, **done}


def _forget_all(context: typer.Context, data: Any, vault: str | None, *, yes: bool) -> Found:
    settings = options.load(context, data)
    name, held = _call(context, data, vault, "memory_status", {})
    question = f"All {_these(held['totalMemories'])} in {name} will be deleted."
    output.require_yes(yes=yes, question=question, word=name)
    arguments = {"confirmation": "DELETE ALL MEMORIES"}
    done = ask_owner(settings, lambda owner: call(owner, name, "forget_all_memories", arguments))
    output.note(f"Deleted {_these(done['before']['primary'])}; the vault {name} is empty.")
    output.note("Certificate", output.bold(done["certificate_id"]))
    return {"vault": name, **done}


def _these(number: int) -> str:
    return output.count(number, "memory", "memories")


def _call(
    context: typer.Context, data: Any, vault: str | None, tool: str, arguments: Mapping[str, Any]
) -> tuple[str, Found]:
    """The vault that was meant, and what the tool answered. None means: not given."""
    given = {name: value for name, value in arguments.items() if value is not None}

    async def ask(owner: Owner) -> tuple[str, Found]:
        name = await options.choose_vault(owner, vault)
        return name, await call(owner, name, tool, given)

    return ask_owner(options.load(context, data), ask)


def _row(memory: Found) -> list[output.Cell | output.Below]:
    """How well it fits (of a search), what it says, and where it stands."""
    score = memory.get("score")
    day = (memory.get("occurred_at") or memory["created_at"])[:10]
    said = output.Below(memory["text"], (day, _TIERS[memory["tier"]], memory["id"]))
    return [said] if score is None else [Text(f"{score:.2f}", "cyan"), said]
