"""What holds for every request: an id, JSON for every failure, safe headers, a bounded body.

Plain ASGI classes, put in order by `routes.py`. None of them may look at a body or a credential.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Mapping, Sequence

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rememberd.http.problems import Refused, internal, refuse

logger = logging.getLogger(__name__)

RawHeaders = Sequence[tuple[bytes, bytes]]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestLog:
    """Gives each request an id (the caller's own, if it looks like one), says it and logs it.

    Logged are method, path, status and time; never the query string or a header.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        data = {"request_id": request_id, "method": scope["method"], "path": scope["path"]}
        began = time.perf_counter()

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                data["status"] = message["status"]
            await send(message)

        await self.app(scope, receive, with_headers(noted, raw({"X-Request-Id": request_id})))
        data["ms"] = round((time.perf_counter() - began) * 1000, 1)
        logger.info("request", extra={"data": data})


class LastResort:
    """Turns an unexpected error into a 500 in JSON; what is logged of it is up to `log.py`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            return  # nobody is left to answer
        except Exception as error:  # an edge: uvicorn would log the text, which may be a memory
            data = {"request_id": scope["state"]["request_id"], "path": scope["path"]}
            logger.error("request failed", exc_info=error, extra={"data": data})
            if not started:
                await internal()(scope, receive, send)


class SecurityHeaders:
    """Safe defaults for every answer; a page that needs others sets its own."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self.app = app
        headers = {
            "Cache-Control": "no-store",
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        if https:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        self.headers = raw(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, with_headers(send, self.headers))


class BodyLimit:
    """Refuses bodies over a limit with 413, by their declared length or while they are read.

    `larger` names paths that take more, such as an import, with their own limit in bytes.
    """

    def __init__(
        self, app: ASGIApp, *, limit: int, larger: Mapping[str, int] | None = None
    ) -> None:
        self.app = app
        self.limit = limit
        self.larger = dict(larger or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        limit = self.larger.get(scope["path"], self.limit)
        text = f"The body is larger than {limit} bytes (setting max_body_bytes)."
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdecimal() and int(declared) > limit:
            return await refuse("content_too_large", text)(scope, receive, send)
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise Refused("content_too_large", text)
            return message

        await self.app(scope, counted, send)


def raw(headers: Mapping[str, str]) -> RawHeaders:
    """As ASGI wants them: names in lower case, bytes."""
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def with_headers(send: Send, headers: RawHeaders) -> Send:
    """Add headers to an answer where it does not have them."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            missing = [pair for pair in headers if pair[0] not in present]
            message["headers"] = [*message["headers"], *missing]
        await send(message)

    return sending
