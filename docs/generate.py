"""Writes docs/reference from the code, so that it cannot say what the code does not do.

Run by `make docs`; `tests/test_docs.py` fails while a page differs from what this would write.
It must not read anything of the machine it runs on: two machines write the same bytes.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast, get_args

import typer
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)

from rememberd import errors, settings
from rememberd.auth import errors as oauth
from rememberd.auth import scopes
from rememberd.cli import app as cli
from rememberd.cli.exits import EXITS
from rememberd.http.problems import REFUSALS, status_of
from rememberd.mcp.results import CHALLENGE_META_KEY, CODE_META_KEY
from rememberd.mcp.schemas import schema_of
from rememberd.mcp.server import SCOPE_CODE
from rememberd.model import SCOPES
from rememberd.tools import TOOLSETS
from rememberd.tools.base import AnyTool, Resource

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
MIGRATIONS = ROOT / "src" / "rememberd" / "store" / "sql" / "sqlite" / "migrations"
Schema = dict[str, Any]
NOTICE = "<!-- Written by `make docs` from the code. Edits here are lost. -->"


def settings_page() -> Iterator[str]:
    yield "# Settings"
    yield (
        "A flag wins over the environment, the environment over the config file, the file over the "
        "default. The config file is TOML with these names as keys; it is looked for in the user's "
        "configuration directory (`rememberd/config.toml`), or where `REMEMBERD_CONFIG` points. "
        "In the environment, lists are separated by commas. "
        "`REMEMBERD_VAULT` names the vault of a command, as `--vault` does; `REMEMBERD_KEY` is the "
        "key that `rememberd stdio` uses."
    )
    for name, field in settings.Settings.model_fields.items():
        yield f"## {name}"
        yield field.description or ""
        yield f"- environment: `{settings.PREFIX}{name.upper()}`\n- default: {default_of(field)}"


def default_of(field: Any) -> str:
    if field.default_factory is settings.default_data_dir:
        return "`rememberd` in the user's data directory, such as `~/.local/share/rememberd`"
    value = field.get_default(call_default_factory=True)
    match value:
        case None:
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case list():
            return ", ".join(f"`{item}`" for item in cast(list[str], value)) or "none"
        case _:
            return f"`{value}`"


def scopes_page() -> Iterator[str]:
    yield "# Scopes"
    yield (
        "Scopes are independent: none includes another. A connection that asks for nothing else "
        f"gets {', '.join(f'`{scope}`' for scope in scopes.ordered(scopes.DEFAULT))}."
    )
    for scope in SCOPES:
        yield f"## {scope}"
        yield scopes.SENTENCES[scope]


def errors_page() -> Iterator[str]:
    yield "# Error codes"
    yield "How a failure is told depends on who was asked. Its text names the field or the way out."
    yield "## An MCP mount"
    yield (
        "A tool that could not do what it was asked answers with the text and `isError: true`; for "
        f'programs, `_meta["{CODE_META_KEY}"]` holds one of the [codes below](#codes). A missing '
        f'scope has its challenge in `_meta["{CHALLENGE_META_KEY}"]`. Arguments that do not fit '
        f"(`{errors.InvalidInput.code}`) are never an `isError`: they are the JSON-RPC error "
        f"{INVALID_PARAMS}, naming the field. In the handshake era JSON-RPC errors travel in HTTP "
        "200, unless the body could not be read; in the stateless era with the status shown."
    )
    yield listing("number", "HTTP", ((f"{n}", status, text) for n, status, text in RPC_ERRORS))
    yield "## The network edge"
    yield (
        "What is refused before anything was looked at has a status and "
        '`{"error": code, "error_description": text}`; a browser gets a page that says the same.'
    )
    yield listing(
        "code", "HTTP", ((f"`{c}`", f"{status}", text) for c, (status, text) in REFUSALS.items())
    )
    yield "## The authorization server"
    yield (
        "The same body, with the codes of RFC 6749 §5.2, RFC 7591 §3.2.2 and RFC 8707 §2; "
        "`/authorize` sends them back to the app in the address, where it may: "
        f"{', '.join(f'`{code}`' for code in get_args(oauth.Code))}."
    )
    yield "## Codes"
    yield (
        "What goes wrong inside. The command line has its exit code from them "
        "([which](cli.md#exit-codes)); where one ends an HTTP request of its own, as on the local "
        "socket, it has the status shown and the body of the edge."
    )
    for error in error_tree(errors.RememberdError):
        yield f"### {error.code}"
        yield inspect.cleandoc(error.__doc__ or "")
        yield f"HTTP {status_of(error.__new__(error)).value}{kind_of(error)}"


RPC_ERRORS = (
    (PARSE_ERROR, "400", "The body is not UTF-8 or not JSON."),
    (INVALID_REQUEST, "400", "The body is not one JSON-RPC 2.0 message; batches are none."),
    (METHOD_NOT_FOUND, "404", "The method does not exist in this revision."),
    (INVALID_PARAMS, "400", "Unknown tool or resource, or arguments that do not fit."),
    (INTERNAL_ERROR, "200", "A resource could not be read, or something nobody foresaw."),
    (HEADER_MISMATCH, "400", "A header is missing, comes twice or differs from the body."),
    (UNSUPPORTED_PROTOCOL_VERSION, "400", "`data.supported` lists the revisions served."),
    (SCOPE_CODE, "403", "`resources/read` without its scope; the challenge is in the header."),
)


def listing(first: str, second: str, entries: Iterable[tuple[str, str, str]]) -> str:
    lines = [f"| {one} | {two} | {text} |" for one, two, text in entries]
    return "\n".join([f"| {first} | {second} | |", "|---|---|---|", *lines])


def kind_of(error: type[errors.RememberdError]) -> str:
    parent = error.__base__
    if parent is None or not issubclass(parent, errors.RememberdError):
        return ""
    return f" · a kind of `{parent.code}`"


def error_tree(root: type[errors.RememberdError]) -> Iterator[type[errors.RememberdError]]:
    """Those of `errors.py` alone: which others exist depends on what was imported."""
    yield root
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from error_tree(child)


def tools_page() -> Iterator[str]:
    yield "# Tools"
    yield "What an agent can do. Each toolset is one MCP mount; its tools stand in catalog order."
    for toolset in TOOLSETS:
        yield f"## Toolset `{toolset.name}`"
        for tool in toolset.tools:
            yield from tool_section(tool)
        for resource in toolset.resources:
            yield from resource_section(resource)


def tool_section(tool: AnyTool) -> Iterator[str]:
    yield f"### {tool.name}"
    kind = "reads" if tool.read_only else "deletes" if tool.destructive else "writes"
    again = "; safe to repeat" if tool.idempotent else ""
    yield f"*{tool.title}* · scope `{tool.scope}` · {kind}{again}"
    yield tool.description
    yield "Takes:"
    yield table("argument", schema_of(tool.input, "validation"))
    yield "Answers:"
    yield table("field", schema_of(tool.output, "serialization"))


def table(title: str, schema: Schema) -> str:
    """The fields of a JSON Schema, those of objects and lists within it included."""
    rows = [f"| `{path}` | {kind} | {text} |" for path, kind, text in fields(schema)]
    if not rows:
        return "Nothing."
    return "\n".join([f"| {title} | type | |", "|---|---|---|", *rows])


def fields(schema: Schema, above: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, type and description of each field, depth first."""
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        text = field.get("description", "").replace("|", "\\|")
        yield above + name, kind_of_value(field, name in required), text
        within = field.get("items", field)
        yield from fields(within, f"{above}{name}{'[]' if 'items' in field else ''}.")


def kind_of_value(field: Schema, required: bool) -> str:
    inner: Schema = field.get("items", {})
    allowed: list[Any] = field.get("enum") or inner.get("enum") or []
    parts = [
        f"{field.get('type', 'any')} of {inner.get('type', 'any')}" if inner else field.get("type"),
        ", ".join(f"`{value}`" for value in allowed),
        span(field, "minimum", "maximum"),
        span(field, "minLength", "maxLength", " characters"),
        span(field, "minItems", "maxItems", " entries"),
        f"default `{json.dumps(field['default'])}`" if "default" in field else "",
        "" if required or "default" in field else "optional",
    ]
    return "; ".join(part for part in parts if part)


def span(field: Schema, least: str, most: str, unit: str = "") -> str:
    low, high = field.get(least), field.get(most)
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {low:,}{unit}"
    return f"at most {high:,}{unit}" if low is None else f"{low:,}–{high:,}{unit}"


def resource_section(resource: Resource) -> Iterator[str]:
    yield f"### {resource.uri}"
    yield f"*{resource.title}* · scope `{resource.scope}` · `{resource.mime_type}`"
    yield resource.description


def cli_page() -> Iterator[str]:
    yield "# Command line"
    for name, command in commands("rememberd", typer.main.get_command(cli)):
        yield f"## {name}"
        yield f"```text\n{help_text(name, command)}\n```"
    yield "## Exit codes"
    yield "A number never changes its meaning; 0 is success."
    codes: dict[int, list[str]] = {}
    for _, code, meaning in EXITS:
        codes.setdefault(code, []).append(meaning)
    rows = [f"| {code} | {'; or '.join(codes[code])} |" for code in sorted(codes)]
    yield "\n".join(["| code | meaning |", "|---|---|", *rows])


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for child in getattr(command, "commands", {}).values():
        if not child.hidden:
            yield from commands(f"{name} {child.name}", child)


def help_text(name: str, command: Any) -> str:
    command.rich_markup_mode = None
    context = typer.Context(command, info_name=name, terminal_width=96)
    return command.get_help(context).rstrip()


def schema_page() -> Iterator[str]:
    yield "# Storage schema"
    yield "What each table is for stands in [Storage](../explanation/storage.md)."
    for database in ("vault", "control", "keys"):
        yield f"## {database}"
        for file in sorted((MIGRATIONS / database).glob("*.sql")):
            yield f"`{file.name}`"
            yield f"```sql\n{file.read_text(encoding='utf-8').strip()}\n```"


def tables(database: str) -> list[str]:
    """The tables of a database (`vault`, `control` or `keys`), in the order they are made."""
    text = "".join(
        file.read_text(encoding="utf-8") for file in sorted((MIGRATIONS / database).glob("*.sql"))
    )
    return re.findall(r"^CREATE (?:VIRTUAL )?TABLE (\w+)", text, re.MULTILINE)


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "settings.md": settings_page,
    "scopes.md": scopes_page,
    "errors.md": errors_page,
    "tools.md": tools_page,
    "cli.md": cli_page,
    "schema.md": schema_page,
}


def rendered() -> dict[str, str]:
    """Every page of the reference: file name → text."""
    return {
        name: "\n\n".join([NOTICE, *(part for part in page() if part)]) + "\n"
        for name, page in PAGES.items()
    }


def main() -> None:
    REFERENCE.mkdir(exist_ok=True)
    for name, text in rendered().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
