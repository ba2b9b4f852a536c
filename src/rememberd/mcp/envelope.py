"""Bytes to one JSON-RPC 2.0 message and back. Whatever is sent, the worst outcome is an `RpcError`.

It must never echo what it refused: the refused text may be a memory.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from mcp_types import INVALID_REQUEST, PARSE_ERROR

from rememberd.errors import RememberdError

JsonObject = dict[str, Any]
RequestId = str | int


class RpcError(RememberdError):
    """The request was refused with a JSON-RPC error."""

    code: ClassVar[str] = "rpc_error"

    def __init__(
        self, number: int, message: str, *, data: Any = None, request_id: RequestId | None = None
    ) -> None:
        super().__init__(message)
        self.number = number  #: the JSON-RPC error code
        self.data = data
        self.request_id = request_id


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or a notification when `id` is None."""

    method: str
    params: JsonObject
    id: RequestId | None

    @property
    def meta(self) -> JsonObject:
        meta = self.params.get("_meta")
        return cast(JsonObject, meta) if isinstance(meta, dict) else {}


def parse(raw: bytes) -> Message:
    """Raises RpcError -32700 for what is not JSON and -32600 for what is not one message."""
    decoded = _decode(raw)
    if not isinstance(decoded, dict):
        raise RpcError(INVALID_REQUEST, "The body must be one JSON-RPC object, not a batch.")
    body = cast(JsonObject, decoded)
    request_id = _request_id(body)
    if body.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'jsonrpc must be "2.0".', request_id=request_id)
    method, params = body.get("method"), body.get("params")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "method must be a string.", request_id=request_id)
    if params is not None and not isinstance(params, dict):
        raise RpcError(INVALID_REQUEST, "params must be an object.", request_id=request_id)
    return Message(method, cast(JsonObject, params or {}), request_id)


def encode(payload: JsonObject) -> bytes:
    """Compact UTF-8 JSON."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    # Only lone surrogates cannot be UTF-8; written as \udXXX they are what JSON calls them.
    return text.encode("utf-8", "backslashreplace")


def result(request_id: RequestId, body: JsonObject) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "result": body})


def error(request_id: RequestId | None, refusal: RpcError) -> bytes:
    """An error reply; the id is null when the request's could not be read (JSON-RPC 2.0 §5)."""
    body: JsonObject = {"code": refusal.number, "message": refusal.message}
    if refusal.data is not None:
        body["data"] = refusal.data
    return encode({"jsonrpc": "2.0", "id": request_id, "error": body})


def _decode(raw: bytes) -> object:
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except UnicodeDecodeError:
        raise RpcError(PARSE_ERROR, "The body is not UTF-8.") from None
    except RecursionError:
        raise RpcError(PARSE_ERROR, "The body is nested too deeply.") from None
    except ValueError:  # besides bad syntax: integers of thousands of digits
        raise RpcError(PARSE_ERROR, "The body is not valid JSON.") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Two values under one name mean different things to different readers (RFC 8259 §4)."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise RpcError(PARSE_ERROR, "An object in the body has the same name twice.")
    return members


def _no_constant(_: str) -> object:
    raise RpcError(PARSE_ERROR, "NaN and Infinity are not JSON.")


def _request_id(body: JsonObject) -> RequestId | None:
    """None for a notification. A null id is no id, and a reply to it would reach nobody."""
    if "id" not in body:
        return None
    value = body["id"]
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RpcError(INVALID_REQUEST, "id must be a string or an integer.")
    return value
