"""Pydantic models as JSON Schemas that every client can read, and their errors in our own words.

What is refused is named by field and limit, and must never be quoted: it may be a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rememberd.mcp.envelope import JsonObject

_SHOWN = 5  # faults listed in one message
_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not an argument of this tool",
    "string_type": "must be a string",
    "string_unicode": "must be valid Unicode, without lone surrogates",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "finite_number": "must be finite",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "too_short": "must have at least {min_length} {unit}",
    "too_long": "must have at most {max_length} {unit}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "value_error": "{error}",
}


def schema_of(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> JsonObject:
    """A self-contained schema: no `$ref`, no generated titles, optional fields without a null.

    Several clients drop a tool, or a whole list, over `$ref` or `anyOf` with null; leaving a field
    out says the same.
    """
    schema = model.model_json_schema(by_alias=True, mode=mode)
    plain = _plain(schema, schema.pop("$defs", {}))
    plain.setdefault("properties", {})
    return plain


def explain(error: ValidationError) -> str:
    """One sentence per fault, such as `limit must be at most 250`."""
    faults = error.errors(include_url=False)
    said = [
        _sentence(fault["loc"], fault["type"], {**fault.get("ctx", {}), "unit": _unit(fault)})
        for fault in faults[:_SHOWN]
    ]
    more = len(faults) - len(said)
    return "; ".join(said) + (f"; and {more} more" if more else "")


def _unit(fault: ErrorDetails) -> str:
    """A text that was looked at before its length was is too long like a list, says pydantic."""
    return "characters" if isinstance(fault["input"], str) else "entries"


def _sentence(loc: tuple[int | str, ...], kind: str, context: Mapping[str, Any]) -> str:
    words = _WORDS.get(kind, "is not valid").format_map(context)
    if context.get("min_length") == 1:
        words = "must not be empty"
    return f"{_path(loc)} {words}".strip()


def _path(loc: tuple[int | str, ...]) -> str:
    """`entries[0].text`; a name that the caller made up is cut short."""
    path = ""
    for step in loc:
        path += f"[{step}]" if isinstance(step, int) else f".{step[:64]}"
    return path.removeprefix(".")


def _plain(node: Any, definitions: JsonObject) -> Any:
    if isinstance(node, list):
        return [_plain(entry, definitions) for entry in cast(list[Any], node)]
    if isinstance(node, dict):
        return _plain_object(cast(JsonObject, node), definitions)
    return node


def _plain_object(node: JsonObject, definitions: JsonObject) -> JsonObject:
    node = {key: value for key, value in node.items() if not _is_noise(key, value)}
    if "$ref" in node:
        target = definitions[node.pop("$ref").removeprefix("#/$defs/")]
        return _plain_object({**target, **node}, definitions)
    if "anyOf" in node:
        options = [option for option in node["anyOf"] if option != {"type": "null"}]
        if len(options) == 1:
            del node["anyOf"]
            return _plain_object({**options[0], **node}, definitions)
        node["anyOf"] = options
    fields: JsonObject = node.pop("properties", {})
    plain = {key: _plain(value, definitions) for key, value in node.items()}
    if fields:
        plain["properties"] = {name: _plain(field, definitions) for name, field in fields.items()}
    return plain


def _is_noise(key: str, value: object) -> bool:
    """Titles are made from field names; a null default belongs to a null that is left out."""
    return key == "title" or (key == "default" and value is None)
