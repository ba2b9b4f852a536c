"""The small catalog behind the real edge, and the requests that clients send to it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from starlette.applications import Starlette

from rememberd.clock import SystemClock
from rememberd.http.bearer import Bearer
from rememberd.http.exchange import McpExchange
from rememberd.http.health import Check, Health
from rememberd.http.routes import Edge, build, resource_metadata
from rememberd.model import Principal
from tests.http.serving import Headers, Reply, Served
from tests.mcp.small_world import ALICE, BOB, CHARLIE, Notes, small_server
from tests.mcp.talk import Json, request

TOKENS = {"alice": ALICE, "bob": BOB, "charlie": CHARLIE, "mk_x:read": BOB}
JSON_TYPE = ("Content-Type", "application/json")


@dataclass
class World:
    """What a test may look at behind the edge: the notes, and which tokens were looked up."""

    notes: Notes = field(default_factory=Notes)
    looked_up: list[str] = field(default_factory=list[str])
    checks: dict[str, Check] = field(default_factory=dict[str, Check])

    async def verify(self, token: str) -> Principal | None:
        self.looked_up.append(token)
        if token == "bug":
            raise ZeroDivisionError("the secret note")
        return TOKENS.get(token)

    def app(self, public_url: str, *, max_body_bytes: int = 1_048_576) -> Starlette:
        metadata = resource_metadata(public_url, "/mcp")
        server = small_server(self.notes, metadata)
        edge = Edge(
            public_url=public_url,
            allowed_hosts=["memory.example"],
            allowed_origins=["https://claude.ai"],
            max_body_bytes=max_body_bytes,
        )
        return build(
            edge,
            mcp={"/mcp": McpExchange(server, Bearer(self.verify, metadata))},
            health=Health(SystemClock(), self.checks),
        )


def bearer(token: str = "alice") -> tuple[str, str]:
    return ("Authorization", f"Bearer {token}")


def post(
    served: Served,
    body: Json | bytes,
    *headers: tuple[str, str],
    path: str = "/mcp",
    token: str | None = "alice",
) -> Reply:
    """A POST as a client sends it; headers given replace the usual ones of the same name."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {name.lower() for name, _ in headers}
    usual: Headers = [JSON_TYPE, *([bearer(token)] if token else [])]
    kept = [(name, value) for name, value in usual if name.lower() not in given]
    return served.send("POST", path, raw, [*kept, *headers])


PING = request("ping")
