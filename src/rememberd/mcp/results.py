"""What a tool, a resource or an error becomes on the wire, in either era.

A failure must look like one: every domain error carries `isError`, and nothing internal is told.
"""

from __future__ import annotations

import base64
from typing import Any

from mcp_types import SERVER_INFO_META_KEY, CallToolResult, TextContent
from pydantic import BaseModel

from rememberd.errors import RememberdError, ScopeMissing, UpstreamBusy
from rememberd.mcp.challenge import step_up
from rememberd.mcp.envelope import JsonObject, encode
from rememberd.mcp.era import Era

CHALLENGE_META_KEY = "mcp/www_authenticate"
CODE_META_KEY = "rememberd/code"
_MODERN_ONLY = ("resultType", "ttlMs", "cacheScope")


def success(output: BaseModel) -> JsonObject:
    """The output as an object, and the same as JSON text for clients that read only text.

    Legacy clients take nothing but an object in structuredContent.
    """
    structured = output.model_dump(mode="json", by_alias=True, exclude_none=True)
    text = TextContent(type="text", text=encode(structured).decode())
    return dump(CallToolResult(content=[text], structured_content=structured))


def failure(error: RememberdError, resource_metadata: str) -> JsonObject:
    """`isError` with plain text, the error's code for programs, and for a missing scope the
    challenge that asks for it.
    """
    message = error.message
    if isinstance(error, UpstreamBusy) and error.retry_after is not None:
        message += f" Wait {error.retry_after:g} seconds before trying again."
    meta: JsonObject = {CODE_META_KEY: error.code}
    if isinstance(error, ScopeMissing):
        meta[CHALLENGE_META_KEY] = [step_up(resource_metadata, error.needed, error.granted)]
    text = TextContent(type="text", text=message)
    return dump(CallToolResult(content=[text], is_error=True, _meta=meta))


def contents(uri: str, mime_type: str, body: str | bytes) -> JsonObject:
    """One entry of a `resources/read` result."""
    if isinstance(body, bytes):
        return {"uri": uri, "mimeType": mime_type, "blob": base64.b64encode(body).decode()}
    return {"uri": uri, "mimeType": mime_type, "text": body}


def finish(result: JsonObject, era: Era, server_info: JsonObject) -> JsonObject:
    """Modern results say that they are complete and who answers; legacy ones must carry neither."""
    if era is Era.LEGACY:
        return {key: value for key, value in result.items() if key not in _MODERN_ONLY}
    meta: JsonObject = {**result.get("_meta", {}), SERVER_INFO_META_KEY: server_info}
    return {"resultType": "complete", **result, "_meta": meta}


def dump(model: BaseModel) -> dict[str, Any]:
    """A protocol model as it goes over the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
