"""What somebody sees who meets a refusal in a browser's address bar: a page instead of JSON.

Status and headers stay. Programs do not ask for text/html, and get the JSON that they can read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rememberd.http.middleware import with_headers

RefusalPage = Callable[[int, str], Response]  # for a status, and the text of a refusal

_OF_THE_BODY = frozenset({b"content-type", b"content-length"})


class PageForPeople:
    """Stands outside everything that refuses.

    Addresses for programs (`but`, and all below /.well-known/) give a page only to a browser that
    says it navigates there (Fetch Metadata §2.2): some HTTP libraries ask for text/html first, and
    have to be told by JSON all the same (RFC 6749 §5.2).
    """

    def __init__(self, app: ASGIApp, *, page: RefusalPage, but: Collection[str]) -> None:
        self.app = app
        self.page = page
        self.but = frozenset(but)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._is_for_people(scope):
            return await self.app(scope, receive, send)
        refusal: Message | None = None
        body = b""

        async def sending(message: Message) -> None:
            nonlocal refusal, body
            if message["type"] == "http.response.start" and _is_refusal(message):
                refusal = message
            elif refusal is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    kept = [pair for pair in refusal["headers"] if pair[0] not in _OF_THE_BODY]
                    page = self.page(refusal["status"], _text(body))
                    await page(scope, receive, with_headers(send, kept))

        await self.app(scope, receive, sending)

    def _is_for_people(self, scope: Scope) -> bool:
        headers, path = Headers(scope=scope), scope["path"]
        if "text/html" not in headers.get("accept", ""):
            return False
        if path not in self.but and not path.startswith("/.well-known/"):
            return True
        return scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"


def _is_refusal(start: Message) -> bool:
    return start["status"] >= 400 and Headers(raw=start["headers"]).get(
        "content-type", ""
    ).startswith("application/json")


def _text(body: bytes) -> str:
    """The sentence of `problem`; empty where there is none, as in an answer to HEAD."""
    try:
        return str(json.loads(body)["error_description"])
    except (ValueError, KeyError, TypeError):
        return ""
