"""A person at a browser without a screen: enough of one to sign in and to let an app in.

Forms are sent as the pages have them, so that whatever a page asks for is measured too.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
from contextlib import closing
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

EMAIL, PASSWORD = "owner@example.com", "copper lantern over the fjord"
CALLBACK = "http://127.0.0.1:9/callback"
VERIFIER = "v" * 43
_CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()
_JSON = {"Content-Type": "application/json"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}


@dataclass
class Visitor:
    """Holds the cookies. Raises RuntimeError when an answer is not the one that was hoped for."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    # -- people ------------------------------------------------------------------------------------

    def sign_in(self) -> None:
        path, body = self.sign_in_form()
        self._ask("POST", path, body, _FORM, wanted=303)

    def sign_in_form(self) -> tuple[str, bytes]:
        """Where the filled-in form goes, and its body, for the cookies that came with the page."""
        fields = self._fields("/sign-in", having="password")
        return "/sign-in", _encoded(fields, email=EMAIL, password=PASSWORD)

    # -- apps --------------------------------------------------------------------------------------

    def register(self) -> str:
        """The client_id of a new app."""
        body = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
        answer, _ = self._ask("POST", "/register", json.dumps(body).encode(), _JSON, wanted=201)
        return json.loads(answer)["client_id"]

    def let_in(self, client_id: str) -> str:
        """The code that a yes brings."""
        query = urlencode(
            {
                "response_type": "code",
                "client_id": client_id,
                "redirect_uri": CALLBACK,
                "scope": "memories:read memories:write",
                "code_challenge": _CHALLENGE.rstrip("="),
                "code_challenge_method": "S256",
                "resource": f"{self.url}/mcp",
            }
        )
        _, page = self._ask("GET", f"/authorize?{query}", wanted=303)
        fields = self._fields(page, having="decision")
        _, back = self._ask("POST", page, _encoded(fields, decision="approve"), _FORM, wanted=303)
        return parse_qs(urlsplit(back).query)["code"][0]

    def redeem(self, body: bytes) -> Any:
        return json.loads(self._ask("POST", "/token", body, _FORM, wanted=200)[0])

    # -- HTTP --------------------------------------------------------------------------------------

    def cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _fields(self, path: str, *, having: str) -> list[tuple[str, str]]:
        html, _ = self._ask("GET", path, wanted=200)
        return next(form for form in _Forms(html).found if having in dict(form))

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        wanted: int,
    ) -> tuple[str, str]:
        """The body, and where it leads."""
        sent = {"Cookie": self.cookie_header(), **(headers or {})}
        with closing(http.client.HTTPConnection("localhost", self.port)) as connection:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            said = response.read().decode()
        if response.status != wanted:
            raise RuntimeError(f"{method} {path}: {response.status} {said[:2000]}")
        for cookie in response.headers.get_all("set-cookie") or ():
            name, _, rest = cookie.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        return said, response.headers.get("location", "")


class _Forms(HTMLParser):
    """The fields of each form that would be sent if nobody touched them; of buttons every one."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[list[tuple[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        name, value = said.get("name"), said.get("value") or ""
        if tag == "form":
            self.found.append([])
        elif tag in ("input", "button") and name and self.found and _is_sent(said):
            self.found[-1].append((name, value))


def _is_sent(said: dict[str, str | None]) -> bool:
    return said.get("type") not in ("checkbox", "radio") or "checked" in said


def _encoded(fields: list[tuple[str, str]], **typed: str) -> bytes:
    kept = [pair for pair in fields if pair[0] not in typed]
    return urlencode([*kept, *typed.items()]).encode()
