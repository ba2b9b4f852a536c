"""The whole URL table, and the order in which a request passes through the edge.

Nothing else may add a route: what this server answers can be read here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from rememberd.errors import RememberdError
from rememberd.http.exchange import METHODS, McpExchange
from rememberd.http.health import Health
from rememberd.http.local import LocalMcp
from rememberd.http.middleware import BodyLimit, LastResort, RequestLog, SecurityHeaders
from rememberd.http.origins import CrossOrigin, KnownHost
from rememberd.http.problems import on_domain_error, on_http_error
from rememberd.rest.local import LocalInterface

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """What the edge must know of the settings. Limits in bytes; `larger_bodies` by path."""

    public_url: str
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    max_body_bytes: int = 1_048_576
    larger_bodies: Mapping[str, int] = field(default_factory=dict[str, int])


def build(
    edge: Edge, *, mcp: McpExchange, health: Health, lifespan: Lifespan | None = None
) -> Starlette:
    """The application: one table of routes behind one edge."""
    routes: list[BaseRoute] = [
        # agents
        *_mount("/mcp", mcp, edge),
        # probes
        Route("/health", health.health),
        Route("/ready", health.ready),
    ]
    app = Starlette(
        routes=routes,
        middleware=_edge(edge),
        exception_handlers={HTTPException: on_http_error, RememberdError: on_domain_error},
        lifespan=lifespan or _nothing,
    )
    # A redirect between /mcp and /mcp/ breaks clients that do not repeat a POST (python-sdk #1716).
    app.router.redirect_slashes = False
    return app


def build_local(interface: LocalInterface, mcp: LocalMcp) -> Starlette:
    """What the local socket answers, to the owner of the data directory alone."""
    return Starlette(
        routes=[
            Route("/owner", interface.owner),
            Route("/owner", interface.leave, methods=["DELETE"]),
            # agents: one MCP message, without the headers of the network transport
            Route("/mcp", mcp, methods=["POST"]),
            # the registry
            Route("/projects", interface.list_projects),
            Route("/projects", interface.create_project, methods=["POST"]),
            Route("/vaults", interface.list_vaults),
            Route("/vaults", interface.create_vault, methods=["POST"]),
            Route("/vaults/{name}", interface.erase_vault, methods=["DELETE"]),
            Route("/keys", interface.list_keys),
            Route("/keys", interface.create_key, methods=["POST"]),
            Route("/keys/{id}", interface.revoke_key, methods=["DELETE"]),
            # the key store
            Route("/keyring/export", interface.export_keys, methods=["POST"]),
            Route("/keyring/import", interface.import_keys, methods=["POST"]),
            # proof and diagnosis
            Route("/certificates/{id}", interface.certificate),
            Route("/diagnosis", interface.diagnose, methods=["POST"]),
        ],
        middleware=[Middleware(RequestLog), Middleware(LastResort)],
        exception_handlers={HTTPException: on_http_error, RememberdError: on_domain_error},
    )


def resource_metadata(public_url: str, path: str) -> str:
    """Where the RFC 9728 document of the resource at `path` is (§3.1: before the path)."""
    return f"{public_url}/.well-known/oauth-protected-resource{path}"


def _mount(path: str, exchange: McpExchange, edge: Edge) -> list[Route]:
    """Both spellings of an MCP endpoint, each served directly."""
    origins = {edge.public_url, *edge.allowed_origins}
    guard = [Middleware(CrossOrigin, origins=origins, methods=METHODS)]
    return [Route(spelling, exchange, middleware=guard) for spelling in (path, f"{path}/")]


def _edge(edge: Edge) -> list[Middleware]:
    """Outermost first."""
    public = urlsplit(edge.public_url)
    hosts = [public.hostname or "localhost", *edge.allowed_hosts]
    return [
        Middleware(RequestLog),
        Middleware(LastResort),
        Middleware(SecurityHeaders, https=public.scheme == "https"),
        Middleware(KnownHost, hosts=hosts),
        Middleware(BodyLimit, limit=edge.max_body_bytes, larger=edge.larger_bodies),
    ]


@asynccontextmanager
async def _nothing(_: Starlette) -> AsyncGenerator[None]:
    yield
