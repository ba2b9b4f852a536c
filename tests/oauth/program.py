"""An OAuth client with no opinion of its own: it sends what a test says."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.http.serving import Reply
from tests.mcp.talk import Json, request
from tests.oauth.person import Person
from tests.oauth.world import World

CALLBACK = "http://127.0.0.1:9999/callback"
JSON = ("Content-Type", "application/json")
READ, WRITE, DELETE, REFLECT = ALL = (
    *("memories:read", "memories:write"),
    *("memories:delete", "memories:reflect"),
)


def challenge_of(verifier: str) -> str:
    """RFC 7636 §4.2."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def bearer(token: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {token}")


def query_of(location: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(location).query, keep_blank_values=True)


@dataclass(frozen=True)
class Link:
    """Where a client sends a person, and what it keeps for later."""

    url: str
    verifier: str
    state: str


@dataclass(frozen=True)
class Tokens:
    access: str
    refresh: str
    scope: str
    expires_in: int

    @classmethod
    def of(cls, reply: Reply) -> Tokens:
        assert reply.status == 200, reply.body
        body = reply.json
        return cls(body["access_token"], body["refresh_token"], body["scope"], body["expires_in"])


def register(world: World, **metadata: Any) -> Reply:
    """Members that are None are left out."""
    usual: Json = {
        "client_name": "Test app",
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "none",
    }
    body = {name: value for name, value in (usual | metadata).items() if value is not None}
    return world.send("POST", "/register", json.dumps(body).encode(), [JSON])


@dataclass
class Program:
    """One registered client; `extra` goes along with every request to the token endpoint."""

    world: World
    client_id: str
    redirect_uri: str = CALLBACK
    extra: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def registered(cls, world: World, **metadata: Any) -> Program:
        reply = register(world, **metadata)
        assert reply.status == 201, reply.body
        made = reply.json
        extra = {"client_secret": made["client_secret"]} if "client_secret" in made else {}
        return cls(world, made["client_id"], made["redirect_uris"][0], extra)

    # -- authorization -----------------------------------------------------------------------------

    def link(self, scope: str | None = READ, **changes: str | None) -> Link:
        """A parameter that is None is left out."""
        verifier, state = secrets.token_urlsafe(32), secrets.token_urlsafe(8)
        usual: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": scope,
            "state": state,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
            "resource": self.world.mcp,
        }
        said = {name: value for name, value in (usual | changes).items() if value is not None}
        return Link(f"{self.world.url}/authorize?{urlencode(said)}", verifier, state)

    def code(
        self, person: Person, link: Link, scopes: Iterable[str] | None = None, **choice: Any
    ) -> str:
        """What the person's yes brings back, checked as a client must (RFC 9207, state)."""
        location = person.consent(link.url, scopes=scopes, **choice)
        said = query_of(location)
        assert said["state"] == [link.state]
        assert said["iss"] == [self.world.url]
        return said["code"][0]

    def redeem(self, code: str, verifier: str | None, /, **changes: str | None) -> Reply:
        usual: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": self.redirect_uri,
            "client_id": self.client_id,
            "resource": self.world.mcp,
            **self.extra,
        }
        return self.world.form("/token", usual | changes)

    def connect(
        self,
        person: Person,
        scopes: Iterable[str] = (READ, WRITE),
        *,
        asked: str | None = None,
        **choice: Any,
    ) -> Tokens:
        """The whole way: link, consent with exactly these scopes, tokens."""
        wanted = list(scopes)
        link = self.link(" ".join(wanted) if asked is None else asked)
        return Tokens.of(self.redeem(self.code(person, link, wanted, **choice), link.verifier))

    # -- afterwards --------------------------------------------------------------------------------

    def refresh(self, token: str, /, **changes: str | None) -> Reply:
        usual: dict[str, str | None] = {
            "grant_type": "refresh_token",
            "refresh_token": token,
            "client_id": self.client_id,
            **self.extra,
        }
        return self.world.form("/token", usual | changes)

    def revoke(self, token: str, /, **changes: str | None) -> Reply:
        usual: dict[str, str | None] = {
            "token": token,
            "client_id": self.client_id,
            **self.extra,
        }
        return self.world.form("/revoke", usual | changes)


# --- calls ---------------------------------------------------------------------------------------


def ask(world: World, token: str | None, method: str, params: Json | None = None) -> Reply:
    """One JSON-RPC request to /mcp."""
    body = json.dumps(request(method, params)).encode()
    headers = [JSON, bearer(token)] if token else [JSON]
    return world.send("POST", "/mcp", body, headers)


def call(world: World, token: str | None, tool: str, **arguments: Any) -> Reply:
    return ask(world, token, "tools/call", {"name": tool, "arguments": arguments})


def result(reply: Reply) -> Json:
    assert reply.status == 200, reply.body
    assert "result" in reply.json, reply.json
    return reply.json["result"]


def store(world: World, token: str, text: str) -> None:
    said = result(call(world, token, "store_memory", content=text))
    assert not said.get("isError"), said


def found(world: World, token: str, query: str) -> list[str]:
    """The texts that a search answers with."""
    said = result(call(world, token, "search_memories", query=query))
    assert not said.get("isError"), said
    return [memory["text"] for memory in said["structuredContent"]["memories"]]


def works(world: World, token: str) -> bool:
    """Whether the token still opens the door."""
    status = ask(world, token, "ping").status
    assert status in (200, 401)
    return status == 200


def scopes_of(world: World, token: str) -> set[str]:
    """What memory_status says was granted."""
    said = result(call(world, token, "memory_status"))
    return set(said["structuredContent"]["grantedScopes"])


# --- the whole way -------------------------------------------------------------------------------


def comes_in(app: Program, person: Person, redirect_uri: str) -> Tokens:
    """Consent, code, tokens, a memory stored and found, a refresh; back by this very address."""
    link = app.link(f"{READ} {WRITE}", redirect_uri=redirect_uri)
    location = person.consent(link.url, scopes=[READ, WRITE])
    assert location.startswith(redirect_uri)
    (code,) = query_of(location)["code"]
    tokens = Tokens.of(app.redeem(code, link.verifier, redirect_uri=redirect_uri))
    store(app.world, tokens.access, "The boat is called Petrel.")
    assert "The boat is called Petrel." in found(app.world, tokens.access, "boat")
    return Tokens.of(app.refresh(tokens.refresh))
