"""The whole URL table, and the order in which a request passes through the edge.

Nothing else may add a route: what this server answers can be read here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rememberd.auth.endpoints.authorize import Authorize
from rememberd.auth.endpoints.metadata import Metadata
from rememberd.auth.endpoints.register import Register
from rememberd.auth.endpoints.revoke import Revoke
from rememberd.auth.endpoints.token import Token
from rememberd.auth.limits import Window
from rememberd.errors import RememberdError
from rememberd.http.addresses import ClientAddress
from rememberd.http.exchange import METHODS, McpExchange
from rememberd.http.health import Health
from rememberd.http.limits import StrangerLimit, Traffic
from rememberd.http.local import LocalMcp
from rememberd.http.middleware import BodyLimit, LastResort, RequestLog, SecurityHeaders
from rememberd.http.origins import KnownHost, KnownOrigin, Origins, Preflight, Readable
from rememberd.http.people import PageForPeople, RefusalPage
from rememberd.http.problems import on_domain_error, on_http_error
from rememberd.rest.local import LocalInterface

# What anybody may call, and so could call too often; the registration limit is its own.
_PAGES = (
    *("/authorize", "/setup", "/join"),
    *("/sign-in", "/sign-in/recovery", "/sign-in/passkey-options", "/sign-out"),
)
_FORMS = ("/token", "/revoke")  # a client's credentials are in the form
_KNOWN = "/.well-known"

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """What the edge must know of the settings. Limits in bytes; `larger_bodies` by path."""

    public_url: str
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    max_body_bytes: int
    larger_bodies: Mapping[str, int] = field(default_factory=dict[str, int])
    trusted_proxies: Sequence[str] = ()
    strangers: Window | None = None  #: how much one address may ask without a credential
    passers: Window | None = None  #: the same for what is neither an app's nor a page of sign-in

    @property
    def origins(self) -> Origins:
        return Origins({self.public_url, *self.allowed_origins})


@dataclass(frozen=True, kw_only=True, slots=True)
class SignIn:
    """The authorization server's endpoints, and the pages for people."""

    metadata: Metadata
    authorize: Authorize
    token: Token
    register: Register
    revoke: Revoke
    pages: Sequence[BaseRoute]
    refusal: RefusalPage  #: for people who meet one in a browser
    is_signed_in: Callable[[Request], Awaitable[bool]]  #: by the session cookie


def build(
    edge: Edge,
    *,
    mcp: Mapping[str, McpExchange],
    health: Health,
    sign_in: SignIn | None = None,
    lifespan: Lifespan | None = None,
) -> Starlette:
    """The application: one table of routes behind one edge. `mcp`: the exchange of each path."""
    routes: list[BaseRoute] = [
        # agents
        *(route for path, exchange in mcp.items() for route in _mount(path, exchange, edge)),
        # clients that want to be let in, and the people who let them
        *(_sign_in(sign_in) if sign_in else ()),
        # probes
        Route("/health", health.health),
        Route("/ready", health.ready),
    ]
    app = Starlette(
        routes=routes,
        middleware=_edge(
            edge, sign_in, [spelling for path in mcp for spelling in (path, f"{path}/")]
        ),
        exception_handlers={HTTPException: on_http_error, RememberdError: on_domain_error},
        lifespan=lifespan or _nothing,
    )
    # A redirect between /mcp and /mcp/ breaks clients that do not repeat a POST (python-sdk #1716).
    app.router.redirect_slashes = False
    return app


def _sign_in(sign_in: SignIn) -> list[BaseRoute]:
    metadata = sign_in.metadata
    documents: dict[str, Any] = {
        **discovery_documents(metadata),
        f"{_KNOWN}/oauth-protected-resource/{{path:path}}": metadata.protected_resource,
    }
    forms = {
        "/token": sign_in.token.answer,
        "/register": sign_in.register.answer,
        "/revoke": sign_in.revoke.answer,
    }
    reading = [Middleware(Preflight, methods="GET, OPTIONS")]
    posting = [Middleware(Preflight, methods="POST, OPTIONS")]
    return [
        *(
            Route(path, answer, methods=["GET", "OPTIONS"], middleware=reading)
            for path, answer in documents.items()
        ),
        *(
            Route(path, answer, methods=["POST", "OPTIONS"], middleware=posting)
            for path, answer in forms.items()
        ),
        Route("/authorize", sign_in.authorize.answer, methods=["GET", "POST"]),
        *sign_in.pages,
    ]


def discovery_documents(metadata: Metadata) -> dict[str, Response]:
    """Every path where clients look for a document, and the document there."""
    found = {
        f"{_KNOWN}/oauth-protected-resource": metadata.first_resource,
        f"{_KNOWN}/oauth-authorization-server": metadata.authorization_server,
        f"{_KNOWN}/openid-configuration": metadata.openid_configuration,
        "/jwks.json": metadata.keys,
    }
    for path in metadata.paths:
        found |= {
            f"{_KNOWN}/oauth-protected-resource{path}": metadata.resources[path],
            # where clients look that take an MCP URL for the issuer
            f"{_KNOWN}/oauth-authorization-server{path}": metadata.authorization_server,
            f"{_KNOWN}/openid-configuration{path}": metadata.openid_configuration,
            f"{path}{_KNOWN}/oauth-protected-resource": metadata.resources[path],
            f"{path}{_KNOWN}/oauth-authorization-server": metadata.authorization_server,
            f"{path}{_KNOWN}/openid-configuration": metadata.openid_configuration,
        }
    return found


def build_local(interface: LocalInterface, mcp: LocalMcp) -> Starlette:
    """What the local socket answers, to the owner of the data directory alone."""
    return Starlette(
        routes=[
            Route("/owner", interface.owner),
            Route("/owner", interface.leave, methods=["DELETE"]),
            # agents: one MCP message, without the headers of the network transport
            Route("/mcp", mcp, methods=["POST"]),
            # the first account
            Route("/setup", interface.setup_link, methods=["POST"]),
            Route("/accounts", interface.set_up, methods=["POST"]),
            # everybody's
            Route("/accounts", interface.list_accounts),
            Route("/accounts/recover", interface.recover_account, methods=["POST"]),
            # the registry
            Route("/projects", interface.list_projects),
            Route("/projects", interface.create_project, methods=["POST"]),
            Route("/projects/{name}/members", interface.list_project_members),
            Route("/projects/{name}/members", interface.add_project_member, methods=["POST"]),
            Route(
                "/projects/{name}/members/{email}",
                interface.remove_project_member,
                methods=["DELETE"],
            ),
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
            Route("/audit", interface.verify_audit),
            Route("/audit/entries", interface.list_audit),
            Route("/diagnosis", interface.diagnose, methods=["POST"]),
            Route("/discovery", interface.discovery),
        ],
        middleware=[Middleware(RequestLog), Middleware(LastResort)],
        exception_handlers={HTTPException: on_http_error, RememberdError: on_domain_error},
    )


def resource_metadata(public_url: str, path: str) -> str:
    """Where the RFC 9728 document of the resource at `path` is (§3.1: before the path)."""
    return f"{public_url}/.well-known/oauth-protected-resource{path}"


def _mount(path: str, exchange: McpExchange, edge: Edge) -> list[Route]:
    """Both spellings of an MCP endpoint, each served directly."""
    guard = [
        Middleware(KnownOrigin, origins=edge.origins),
        Middleware(Preflight, methods=METHODS),
    ]
    return [Route(spelling, exchange, middleware=guard) for spelling in (path, f"{path}/")]


def _is_open(path: str) -> bool:
    """To any web page: documents, and forms in which a client's credentials are."""
    return f"{_KNOWN}/" in path or path in _FORMS or path in ("/register", "/jwks.json")


def _edge(edge: Edge, sign_in: SignIn | None, mounts: Sequence[str]) -> list[Middleware]:
    """Outermost first."""
    programs = (*mounts, *_FORMS, "/register")
    public = urlsplit(edge.public_url)
    hosts = [public.hostname or "localhost", *edge.allowed_hosts]
    return [
        Middleware(ClientAddress, proxies=edge.trusted_proxies),
        Middleware(RequestLog),
        Middleware(SecurityHeaders, https=public.scheme == "https"),
        Middleware(Readable, is_open=_is_open, mounts=mounts, origins=edge.origins),
        *([Middleware(PageForPeople, page=sign_in.refusal, but=programs)] if sign_in else []),
        Middleware(LastResort),
        *_strangers(edge, sign_in, mounts),
        Middleware(KnownHost, hosts=hosts),
        Middleware(BodyLimit, limit=edge.max_body_bytes, larger=edge.larger_bodies),
    ]


def _strangers(edge: Edge, sign_in: SignIn | None, mounts: Sequence[str]) -> list[Middleware]:
    if edge.strangers is None or edge.passers is None or sign_in is None:
        return []
    traffic = Traffic(
        strangers=edge.strangers,
        passers=edge.passers,
        mounts=frozenset(mounts),
        forms=frozenset(_FORMS),
        pages=frozenset(_PAGES),
        is_signed_in=sign_in.is_signed_in,
    )
    return [Middleware(StrangerLimit, traffic=traffic)]


@asynccontextmanager
async def _nothing(_: Starlette) -> AsyncGenerator[None]:
    yield
