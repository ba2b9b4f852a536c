"""The one place where parts are put together: settings in, a running application out.

Nothing here decides anything; it only says who gets what.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mcp_types import Implementation
from starlette.types import ASGIApp

from rememberd import __version__
from rememberd.auth.endpoints.authorize import Authorize
from rememberd.auth.endpoints.metadata import Metadata
from rememberd.auth.endpoints.register import Register
from rememberd.auth.endpoints.revoke import Revoke
from rememberd.auth.endpoints.token import Token
from rememberd.auth.fetch import Network
from rememberd.auth.grants import Lifetimes
from rememberd.auth.limits import Window
from rememberd.auth.principals import Keys
from rememberd.auth.server import AuthOptions, AuthorizationServer
from rememberd.clock import Clock, SystemClock
from rememberd.console.console import Console
from rememberd.engine import vaults
from rememberd.engine.engine import Engine, Limits
from rememberd.engine.meaning import EmbedderOptions, Meaning
from rememberd.http import routes
from rememberd.http.bearer import Bearer
from rememberd.http.exchange import McpExchange
from rememberd.http.health import Health
from rememberd.http.local import LocalMcp
from rememberd.http.routes import Edge, SignIn
from rememberd.mcp.catalog import Catalog
from rememberd.mcp.server import McpServer
from rememberd.model import Principal, Vault
from rememberd.rest.local import LocalInterface
from rememberd.settings import Settings
from rememberd.store import lifecycle
from rememberd.store.place import DataDirectory, Lock
from rememberd.store.store import Store, StoreOptions
from rememberd.tools import TOOLSETS, VAULT, Toolset
from rememberd.worker import Worker


@dataclass(frozen=True, slots=True)
class App:
    """A data directory that is open, and what answers for it."""

    engine: Engine
    keys: Keys
    auth: AuthorizationServer
    worker: Worker
    public: ASGIApp  #: for the network
    local: ASGIApp  #: for the owner's socket
    first_vault: Vault | None  #: made just now, at the very first start


@asynccontextmanager
async def build_app(
    settings: Settings,
    *,
    public_url: str,
    role: str = "server",
    leave: Callable[[], None] | None = None,
    clock: Clock | None = None,
    network: Network | None = None,
) -> AsyncGenerator[App]:
    """Own the data directory and open everything in it, until the end of the block.

    `leave` is called when a server asks a passing owner for its place; a server has none.
    `network` is how clients' documents are fetched; None: as the system reaches the world.
    Raises DataDirectoryBusy when another process owns it, and the kinds of StorageError.
    """
    time = clock or SystemClock()
    directory = DataDirectory(settings.data)
    directory.prepare()
    with Lock(directory.lock):
        store = await Store.open(directory, _store_options(settings), time)
        try:
            await lifecycle.resume(store)
            meaning = Meaning(_embedder_options(settings), time)
            engine = Engine(store, meaning, time, _limits(settings), public_url)
            first = await vaults.first_run(engine)
            app = _assemble(settings, engine, role, leave, first, network)
            yield app
            await app.worker.finish()
            await meaning.close()
        finally:
            await store.close()


def _assemble(
    settings: Settings,
    engine: Engine,
    role: str,
    leave: Callable[[], None] | None,
    first: Vault | None,
    network: Network | None,
) -> App:
    keys = Keys(engine.store, engine.clock)
    auth = AuthorizationServer.assemble(
        engine.store, engine.clock, keys, _auth_options(settings, engine.public_url), network
    )
    servers = {toolset.path: _mcp_server(toolset, engine) for toolset in TOOLSETS}
    sign_in = _sign_in(settings, engine, auth)

    async def control_answers() -> None:
        await engine.store.control.read(lambda tx: tx.value("any_vault"))

    return App(
        engine=engine,
        keys=keys,
        auth=auth,
        worker=Worker(engine, auth),
        public=routes.build(
            _edge(settings, engine),
            mcp={
                path: McpExchange(server, _bearer(engine, auth, path))
                for path, server in servers.items()
            },
            health=Health(engine.clock, {"database": control_answers}),
            sign_in=sign_in,
        ),
        local=routes.build_local(
            LocalInterface(
                engine,
                keys,
                auth.accounts,
                _facts(engine, role),
                routes.discovery_documents(sign_in.metadata),
                leave,
            ),
            LocalMcp(servers[VAULT.path], engine, keys.verify),
        ),
        first_vault=first,
    )


def _facts(engine: Engine, role: str) -> dict[str, Any]:
    """Who owns the data directory, for other commands to ask."""
    return {
        "role": role,
        "pid": os.getpid(),
        "version": __version__,
        "public_url": engine.public_url,
        "mounts": [toolset.path for toolset in TOOLSETS],
    }


def _edge(settings: Settings, engine: Engine) -> Edge:
    return Edge(
        public_url=engine.public_url,
        allowed_hosts=settings.allowed_hosts,
        allowed_origins=settings.allowed_origins,
        max_body_bytes=settings.max_body_bytes,
        trusted_proxies=settings.trusted_proxies,
        strangers=Window(settings.strangers_per_minute, 60, engine.clock),
        passers=Window(settings.strangers_per_minute * 10, 60, engine.clock),
    )


def _bearer(engine: Engine, auth: AuthorizationServer, path: str) -> Bearer:
    """Guards one mount: a token for another resource is worth nothing there."""
    resource = engine.public_url + path

    async def verify(token: str) -> Principal | None:
        return await auth.access.verify(token, resource)

    async def last_held(token: str) -> frozenset[str]:
        return await auth.access.last_held(token, resource)

    return Bearer(verify, routes.resource_metadata(engine.public_url, path), last_held)


def _sign_in(settings: Settings, engine: Engine, auth: AuthorizationServer) -> SignIn:
    issuer, paths = auth.options.issuer, auth.options.paths
    console = Console(engine, auth)
    registrations = Window(settings.registrations_per_hour, 3600, engine.clock)
    return SignIn(
        metadata=Metadata(issuer, paths, documents=auth.options.documents),
        authorize=Authorize(
            issuer,
            auth.resources,
            auth.clients,
            auth.consents,
            console.find_browser,
            console.show_error,
        ),
        token=Token(auth.clients, auth.grants),
        register=Register(auth.clients, registrations),
        revoke=Revoke(auth.clients, auth.grants),
        pages=console.routes(),
        refusal=console.refusal,
        is_signed_in=console.is_signed_in,
    )


def _mcp_server(toolset: Toolset, engine: Engine) -> McpServer:
    return McpServer(
        Catalog(toolset.tools, toolset.resources, prompts=True),
        engine=engine,
        info=Implementation(name="rememberd", title="rememberd", version=__version__),
        instructions=toolset.instructions,
        resource_metadata=routes.resource_metadata(engine.public_url, toolset.path),
    )


def _store_options(settings: Settings) -> StoreOptions:
    master = settings.master_key
    return StoreOptions(
        master_key=master.get_secret_value() if master else None,
        writer_threads=settings.writer_threads,
        reader_threads=settings.reader_threads,
        open_vaults=settings.open_vaults,
        cache_bytes=settings.cache_bytes,
    )


def _auth_options(settings: Settings, public_url: str) -> AuthOptions:
    return AuthOptions(
        issuer=public_url,
        paths=[toolset.path for toolset in TOOLSETS],
        lifetimes=Lifetimes(
            access=timedelta(minutes=settings.access_token_minutes),
            refresh=timedelta(days=settings.refresh_token_days),
            grace=timedelta(seconds=settings.refresh_grace_seconds),
        ),
        documents=settings.client_documents,
    )


def _embedder_options(settings: Settings) -> EmbedderOptions:
    key = settings.embedder_api_key
    return EmbedderOptions(
        kind=settings.embedder,
        url=settings.embedder_url,
        model=settings.embedder_model,
        api_key=key.get_secret_value() if key else None,
        dimension=settings.embedder_dimension,
        timeout=settings.embedder_timeout,
    )


def _limits(settings: Settings) -> Limits:
    return Limits(
        reflection_memories=settings.reflection_memories,
        reflection_tokens=settings.reflection_tokens,
        batch_memories=settings.batch_memories,
        batch_tokens=settings.batch_tokens,
        monthly_token_allowance=settings.monthly_token_allowance,
        author_boost=settings.author_boost,
    )
