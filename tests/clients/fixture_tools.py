"""The answers that the conformance suite looks for by name: contents, and results asking for input.

Tests only; `fixture_server.py` serves them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import struct
import zlib
from collections.abc import Callable
from typing import Any

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
)

from rememberd.mcp.envelope import JsonObject, RpcError
from rememberd.mcp.results import contents

Raw = Callable[[JsonObject], JsonObject]


# --- contents that the suite looks for ---------------------------------------------------------


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


RED_PIXEL = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    + _chunk(b"IEND", b"")
)
SILENCE = (
    b"RIFF"
    + struct.pack("<I", 36)
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    + b"data"
    + struct.pack("<I", 0)
)


def text(said: str) -> JsonObject:
    return {"type": "text", "text": said}


def image() -> JsonObject:
    data = base64.b64encode(RED_PIXEL).decode()
    return {"type": "image", "data": data, "mimeType": "image/png"}


def embedded(uri: str, mime_type: str, said: str) -> JsonObject:
    return {"type": "resource", "resource": contents(uri, mime_type, said)}


# --- tools that answer once --------------------------------------------------------------------


def _audio(_: JsonObject) -> JsonObject:
    data = base64.b64encode(SILENCE).decode()
    return {"content": [{"type": "audio", "data": data, "mimeType": "audio/wav"}]}


def _mixed(_: JsonObject) -> JsonObject:
    resource = embedded(
        "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
    )
    return {"content": [text("Multiple content types test:"), image(), resource]}


def _needs_sampling(params: JsonObject) -> JsonObject:
    if "sampling" not in params["_meta"][CLIENT_CAPABILITIES_META_KEY]:
        raise RpcError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs sampling.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return {"content": [text("sampling is there")]}


# --- tools that ask for input first (multi round-trip requests) --------------------------------


def elicit(message: str, field: str, kind: str = "string") -> JsonObject:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sample(prompt: str, most: int) -> JsonObject:
    message = {"role": "user", "content": text(prompt)}
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": most},
    }


ROOTS: JsonObject = {"method": "roots/list", "params": {}}
_SECRET = secrets.token_bytes(16)


def _signed(state: str) -> str:
    return f"{state}.{hmac.new(_SECRET, state.encode(), hashlib.sha256).hexdigest()}"


def _opened(state: object) -> str:
    plain = str(state).partition(".")[0]
    if not hmac.compare_digest(str(state).encode(), _signed(plain).encode()):
        raise RpcError(INVALID_PARAMS, "requestState was changed on its way.")
    return plain


def required(requests: JsonObject, state: str | None = None) -> JsonObject:
    asked: JsonObject = {"resultType": "input_required", "inputRequests": requests}
    return asked if state is None else {**asked, "requestState": _signed(state)}


def answers(params: JsonObject) -> dict[str, JsonObject]:
    """The input responses that have the right shape."""
    given: Any = params.get("inputResponses") or {}
    return {key: value for key, value in given.items() if isinstance(value, dict)}


def asks(
    requests: JsonObject, done: Callable[[dict[str, JsonObject]], str], state: str | None
) -> Raw:
    """A tool that is complete once every request has an answer (and the state is its own)."""

    def run(params: JsonObject) -> JsonObject:
        if state is not None and "requestState" in params:
            _opened(params["requestState"])
        given = answers(params)
        if not requests.keys() <= given.keys():
            return required(requests, state)
        return {"content": [text(done(given))]}

    return run


def _multi_round(params: JsonObject) -> JsonObject:
    state = _opened(params["requestState"]) if "requestState" in params else ""
    given = answers(params)
    if state == "round-2" and "step2" in given:
        return {"content": [text("Both steps are done.")]}
    if state == "round-1" and "step1" in given:
        question = elicit("Step 2: What is your favorite color?", "color")
        return required({"step2": question}, "round-2")
    return required({"step1": elicit("Step 1: What is your name?", "name")}, "round-1")


def _only_declared(params: JsonObject) -> JsonObject:
    declared = params["_meta"][CLIENT_CAPABILITIES_META_KEY]
    possible = {
        "elicitation": ("user_name", elicit("What is your name?", "name")),
        "sampling": ("greeting", sample("Generate a greeting", 50)),
        "roots": ("client_roots", ROOTS),
    }
    requests = dict(pair for name, pair in possible.items() if name in declared)
    given = answers(params)
    if requests.keys() <= given.keys():
        return {"content": [text("done")]}
    return required(requests)


_NAME: JsonObject = {"user_name": elicit("What is your name?", "name")}
_CONFIRM: JsonObject = {"confirm": elicit("Please confirm", "ok", "boolean")}

RAW: dict[str, Raw] = {
    "test_simple_text": lambda _: {
        "content": [text("This is a simple text response for testing.")]
    },
    "test_image_content": lambda _: {"content": [image()]},
    "test_audio_content": _audio,
    "test_embedded_resource": lambda _: {
        "content": [
            embedded(
                "test://embedded-resource", "text/plain", "This is an embedded resource content."
            )
        ]
    },
    "test_multiple_content_types": _mixed,
    "test_tool_with_progress": lambda _: {"content": [text("done, without saying so on the way")]},
    "test_tool_with_logging": lambda _: {"content": [text("done")]},
    "test_logging_tool": lambda _: {"content": [text("done")]},
    "test_missing_capability": _needs_sampling,
    "test_streaming_elicitation": lambda _: required(_NAME),
    "test_input_required_result_elicitation": asks(
        _NAME, lambda given: f"Hello, {given['user_name'].get('content', {}).get('name')}!", None
    ),
    "test_input_required_result_sampling": asks(
        {"capital_question": sample("What is the capital of France?", 100)},
        lambda given: json.dumps(given["capital_question"]),
        None,
    ),
    "test_input_required_result_list_roots": asks(
        {"client_roots": ROOTS}, lambda given: json.dumps(given["client_roots"]), None
    ),
    "test_input_required_result_request_state": asks(_CONFIRM, lambda _: "state-ok", "waiting"),
    "test_input_required_result_multiple_inputs": asks(
        {**_NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS},
        lambda _: "all three came",
        "waiting",
    ),
    "test_input_required_result_multi_round": _multi_round,
    "test_input_required_result_tampered_state": asks(_CONFIRM, lambda _: "state-ok", "waiting"),
    "test_input_required_result_capabilities": _only_declared,
}
