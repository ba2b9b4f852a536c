"""What every answer has, whatever the path: JSON, an id, safe headers; and the two probes."""

import logging
import threading
from datetime import datetime
from pathlib import Path

import pytest

from rememberd.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    ReadOnly,
    RememberdError,
    ScopeMissing,
    Unauthenticated,
    UpstreamBusy,
    VaultUnavailable,
)
from rememberd.http.problems import on_domain_error, status_of
from tests.http.serving import Served, serving
from tests.http.world import JSON_TYPE, PING, World, bearer, post

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/nowhere", 404),
        ("GET", "/.well-known/anything", 404),
        ("POST", "/mcp/other", 404),
        ("GET", "/mcpx", 404),
        ("GET", "//mcp", 404),
        ("GET", "/health/", 404),
        ("POST", "/health", 405),
        ("DELETE", "/ready", 405),
        ("PATCH", "/health", 405),
    ],
)
def test_every_refusal_is_json(served: Served, method: str, path: str, status: int) -> None:
    reply = served.send(method, path)
    assert reply.status == status
    assert reply.headers["content-type"] == "application/json"
    assert reply.json.keys() == {"error", "error_description"}


@pytest.mark.parametrize(
    "code, path, headers",
    [
        ("unauthorized", "/mcp", []),
        ("invalid_token", "/mcp", [bearer("nobody")]),
        ("origin_not_allowed", "/mcp", [("Origin", "https://evil.example")]),
        ("not_found", "/nowhere", []),
        ("method_not_allowed", "/health", []),
        ("content_too_large", "/mcp", [bearer(), JSON_TYPE, ("Content-Length", str(10**9))]),
        ("unsupported_media_type", "/mcp", [bearer()]),
        ("misdirected_request", "/mcp", [("Host", "evil.example")]),
        ("server_error", "/mcp", [bearer("bug"), JSON_TYPE]),
    ],
)
def test_a_refusal_stands_in_the_reference_as_it_comes(
    served: Served, code: str, path: str, headers: list[tuple[str, str]]
) -> None:
    reply = served.send("POST", path, headers=headers)
    assert reply.json["error"] == code
    assert f"\n| `{code}` | {reply.status} | " in REFERENCE.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["/mcp", "/health", "/nowhere"])
def test_every_answer_has_safe_headers(served: Served, path: str) -> None:
    headers = served.send("GET", path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "strict-transport-security" not in headers


def test_a_server_reached_by_https_says_so_for_good() -> None:
    with serving(lambda _: World().app("https://memory.example")) as served:
        headers = served.send("GET", "/health").headers
    assert headers["strict-transport-security"] == "max-age=31536000"


def test_an_answer_carries_the_callers_request_id_if_it_is_one(served: Served) -> None:
    assert served.send("GET", "/health", headers=[("X-Request-Id", "a-1.B_2")]).headers[
        "x-request-id"
    ] == ("a-1.B_2")
    for bad in ("", "a b", "x" * 65, "a\u00e9", "<script>"):
        given = served.send("GET", "/health", headers=[("X-Request-Id", bad)])
        assert given.headers["x-request-id"] not in (bad, "")


def test_a_request_is_logged_without_query_and_headers(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="rememberd.http"):
        post(served, PING, bearer("mk_secret"), path="/mcp?code=secret")
        while not caplog.records:  # written after the answer, by the server's thread
            threading.Event().wait(0.01)
    data = [record.__dict__["data"] for record in caplog.records]
    assert [(line["path"], line["status"]) for line in data] == [("/mcp", 401)]
    assert "secret" not in str(data)
    assert "secret" not in caplog.text


def test_a_proxy_that_nobody_named_is_warned_of_once(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """Or all of its visitors would share one stranger's limits, and nobody would know why."""
    with caplog.at_level(logging.WARNING, logger="rememberd.http"):
        for _ in range(2):
            served.send("GET", "/health", headers=[("X-Forwarded-For", "203.0.113.9")])
    assert [record.__dict__["data"]["address"] for record in caplog.records] == ["127.0.0.1"]
    assert "trusted_proxies" in str(caplog.records[0].__dict__["data"])


# --- probes ------------------------------------------------------------------------------------


def test_health_needs_no_token(served: Served) -> None:
    reply = served.send("GET", "/health")
    assert reply.status == 200
    assert reply.json.keys() == {"status", "timestamp", "ok", "service"}
    assert reply.json["status"] == "healthy"
    assert datetime.fromisoformat(reply.json["timestamp"]).tzinfo is not None
    assert served.send("HEAD", "/health").status == 200


def test_ready_names_what_is_not() -> None:
    world = World()

    async def passes() -> None:
        """Ready."""

    async def fails() -> None:
        raise VaultUnavailable("/secret/path")

    world.checks = {"control": passes, "worker": fails}
    with serving(world.app) as served:
        reply = served.send("GET", "/ready")
        assert reply.status == 503
        assert reply.json == {"ready": False, "checks": {"control": True, "worker": False}}
        assert b"secret" not in reply.body


def test_ready_when_nothing_is_missing(served: Served) -> None:
    reply = served.send("GET", "/ready")
    assert (reply.status, reply.json) == (200, {"ready": True, "checks": {}})


# --- domain errors -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error, status",
    [
        (InvalidInput("x"), 400),
        (Unauthenticated(), 401),
        (ScopeMissing("memories:write"), 403),
        (ReadOnly(), 403),
        (NotFound(), 404),
        (Conflict(), 409),
        (QuotaExceeded(), 402),
        (UpstreamBusy("x"), 429),
        (VaultUnavailable(), 503),
        (RememberdError(), 400),
    ],
)
def test_each_domain_error_has_its_status(error: RememberdError, status: int) -> None:
    assert status_of(error) == status


async def test_an_upstream_limit_says_how_long_to_wait() -> None:
    reply = await on_domain_error(None, UpstreamBusy("busy", retry_after=1.2))  # pyright: ignore[reportArgumentType]
    assert reply.status_code == 429
    assert reply.headers["retry-after"] == "2"
