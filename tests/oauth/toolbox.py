"""Every tool and resource of /mcp with a good call, and which of them a credential opens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rememberd.tools import VAULT
from tests.oauth.program import ALL, DELETE, READ, REFLECT, WRITE, Json, ask, call
from tests.oauth.world import World

ARGUMENTS: dict[str, dict[str, Any]] = {
    "memory_status": {},
    "search_memories": {"query": "boat"},
    "date_search_memories": {"from": "2026-01-01"},
    "inspect_memory": {"memory_id": "mem_unknown"},
    "search": {"query": "boat"},
    "store_memory": {"content": "The boat is called Petrel."},
    "consolidate_memories": {},
    "commit_reflections": {
        "batch_id": "bat_unknown",
        "entries": [{"text": "A boat.", "importance": 5}],
    },
    "delete_memories": {"memory_ids": ["mem_unknown"], "confirmation": "DELETE"},
    "forget_all_memories": {"confirmation": "DELETE ALL MEMORIES"},
}
NEEDS = {
    **dict.fromkeys(("memory_status", "search_memories", "date_search_memories"), READ),
    **dict.fromkeys(("inspect_memory", "search"), READ),
    "store_memory": WRITE,
    **dict.fromkeys(("consolidate_memories", "commit_reflections"), REFLECT),
    **dict.fromkeys(("delete_memories", "forget_all_memories"), DELETE),
    **dict.fromkeys(("memory://vault/stats", "memory://vault/recent"), READ),
}
SUBSETS = [
    frozenset(scope for bit, scope in enumerate(ALL) if number >> bit & 1) for number in range(16)
]


def said(scopes: frozenset[str]) -> str:
    """For the name of a test."""
    return "+".join(one.removeprefix("memories:") for one in ALL if one in scopes) or "nothing"


def opened(world: World, token: str, but: Iterable[str] = ()) -> set[str]:
    """The tools and resources that the credential may use; each is really asked.

    A refusal must name the scope, and challenge with the union of what is held and what is needed.
    """
    allowed: set[str] = set()
    for tool, arguments in ARGUMENTS.items():
        if tool not in but and _may_call(world, token, tool, arguments):
            allowed.add(tool)
    return allowed | {uri for uri in NEEDS if "://" in uri and _may_read(world, token, uri)}


def _may_call(world: World, token: str, tool: str, arguments: Json) -> bool:
    reply = call(world, token, tool, **arguments)
    assert reply.status == 200, reply.body
    meta = reply.json["result"].get("_meta", {})
    if "Your role in this vault" in reply.json["result"]["content"][0]["text"]:
        assert "mcp/www_authenticate" not in meta  # signing in again would not help
        return False
    if meta.get("rememberd/code") != "insufficient_scope":
        return True
    assert reply.json["result"]["isError"] is True
    assert NEEDS[tool] in reply.json["result"]["content"][0]["text"]
    (challenge,) = meta["mcp/www_authenticate"]
    _check_challenge(challenge, NEEDS[tool])
    return False


def _may_read(world: World, token: str, uri: str) -> bool:
    reply = ask(world, token, "resources/read", {"uri": uri})
    if reply.status == 200:
        return True
    assert reply.status == 403, reply.body
    _check_challenge(reply.headers["www-authenticate"], NEEDS[uri])
    return False


def _check_challenge(challenge: str, needed: str) -> None:
    assert challenge.startswith('Bearer error="insufficient_scope", resource_metadata="')
    asked = challenge.partition(' scope="')[2].partition('"')[0].split()
    assert needed in asked
    assert set(asked) <= set(ALL)


def expected(scopes: Iterable[str], but: Iterable[str] = ()) -> set[str]:
    held = set(scopes)
    return {name for name, needed in NEEDS.items() if needed in held} - set(but)


assert set(ARGUMENTS) == {tool.name for tool in VAULT.tools}
assert {name for name in NEEDS if "://" in name} == {one.uri for one in VAULT.resources}
