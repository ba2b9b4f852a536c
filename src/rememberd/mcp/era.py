"""Which of the two eras of MCP a message belongs to, and the checks that only the modern one has.

Revision 2026-07-28 is stateless: each request names its version in `_meta`, mirrored in headers.
Older clients shake hands first and say little later; they must never be asked for modern headers.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from rememberd.mcp.envelope import Message, RpcError

_VERSION, _METHOD, _NAME = "mcp-protocol-version", "mcp-method", "mcp-name"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")


class Era(Enum):
    MODERN = "modern"
    LEGACY = "legacy"


@dataclass(frozen=True, slots=True)
class Routing:
    """The headers that mirror a request for proxies. Values as sent; `repeated` came twice."""

    version: str | None = None
    method: str | None = None
    name: str | None = None
    repeated: str | None = None

    @classmethod
    def read(cls, headers: Iterable[tuple[str, str]]) -> Routing:
        """From raw header lines: a mapping would hide that a header came twice."""
        found: dict[str, str] = {}
        repeated = None
        for name, value in headers:
            key = name.lower()
            if key in (_VERSION, _METHOD, _NAME):
                repeated = key if key in found else repeated
                found[key] = value.strip(" \t")  # not every HTTP parser does (RFC 9110 §5.5)
        return cls(found.get(_VERSION), found.get(_METHOD), found.get(_NAME), repeated)


def era_of(message: Message, routing: Routing | None) -> Era:
    """Modern when the body or a header says so; without headers (stdio) the body decides."""
    if PROTOCOL_VERSION_META_KEY in message.meta:
        return Era.MODERN
    if routing is None:
        return Era.LEGACY
    if routing.version is None:
        # Some bridges mirror the method of a handshake too (mcp-remote 0.15).
        handshake = message.method == "initialize" or routing.method is None
        return Era.LEGACY if handshake else Era.MODERN
    return Era.LEGACY if routing.version in HANDSHAKE_PROTOCOL_VERSIONS else Era.MODERN


def check_modern(message: Message, routing: Routing | None) -> None:
    """`_meta`, then headers, then version. Raises RpcError -32602, -32020 or -32022.

    A notification is told only that its version is not served: nobody reads errors about it.
    """
    if message.id is None:
        said = routing.version if routing else None
        _check_version(said or message.meta.get(PROTOCOL_VERSION_META_KEY))
        return
    for key in (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY):
        if key not in message.meta:
            raise RpcError(INVALID_PARAMS, f"params._meta lacks {key}.")
    if not isinstance(message.meta[CLIENT_CAPABILITIES_META_KEY], dict):
        raise RpcError(INVALID_PARAMS, f"{CLIENT_CAPABILITIES_META_KEY} must be an object.")
    if routing is not None:
        _check_headers(message, routing)
    _check_version(message.meta[PROTOCOL_VERSION_META_KEY])


def negotiate(requested: object) -> str:
    """The version that `initialize` answers: a known legacy one, and never a modern one."""
    known = isinstance(requested, str) and requested in HANDSHAKE_PROTOCOL_VERSIONS
    return str(requested) if known else LATEST_HANDSHAKE_VERSION


def _check_headers(message: Message, routing: Routing) -> None:
    if routing.repeated is not None:
        raise RpcError(HEADER_MISMATCH, f"The header {routing.repeated} came more than once.")
    if routing.version is None or routing.version != message.meta[PROTOCOL_VERSION_META_KEY]:
        raise _mismatch(_VERSION, f"params._meta {PROTOCOL_VERSION_META_KEY}")
    if routing.method != message.method:
        raise _mismatch(_METHOD, "method")
    key = _NAMED_BY.get(message.method)
    if key is None or message.params.get(key) is None:
        return  # without a name there is nothing to mirror; the method itself asks for one
    if _decoded(routing.name) != message.params[key]:
        raise _mismatch(_NAME, f"params.{key}")


def _mismatch(header: str, field: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, f"The header {header} is missing or differs from {field}.")


def _decoded(value: str | None) -> str | None:
    """Undo `=?base64?…?=`, which carries what a header cannot; None when it is malformed."""
    match = _ENCODED.fullmatch(value or "")
    if match is None:
        return value
    try:
        raw = base64.b64decode(match[1], validate=True)
        return raw.decode("utf-8") if base64.b64encode(raw).decode() == match[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _check_version(version: Any) -> None:
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, f"{PROTOCOL_VERSION_META_KEY} must be a string.")
    if version not in MODERN_PROTOCOL_VERSIONS:
        supported = list(MODERN_PROTOCOL_VERSIONS)
        raise RpcError(
            UNSUPPORTED_PROTOCOL_VERSION,
            f"Unsupported protocol version. Supported: {', '.join(supported)}.",
            data={"supported": supported, "requested": version},
        )
