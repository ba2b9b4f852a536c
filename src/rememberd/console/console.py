"""Puts the pages together, and says at which address each one is."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rememberd.auth.server import AuthorizationServer
from rememberd.auth.sessions import Browser
from rememberd.console.account import AccountPage
from rememberd.console.connections import ConnectionsPage
from rememberd.console.consent import ConsentPage
from rememberd.console.home import Home
from rememberd.console.joining import Join, SetUp
from rememberd.console.members import MembersPage
from rememberd.console.memories import MemoryPage
from rememberd.console.problems import Problem, refusal
from rememberd.console.render import Pages
from rememberd.console.sign_in import Recovery, SignIn, SignOut
from rememberd.console.statics import Statics
from rememberd.console.vaults import VaultsPage
from rememberd.console.visits import Visits
from rememberd.engine.engine import Engine

READ, BOTH, SEND = ["GET"], ["GET", "POST"], ["POST"]


class Console:
    def __init__(self, engine: Engine, auth: AuthorizationServer) -> None:
        self._engine = engine
        self._auth = auth
        self._statics = Statics()
        self._pages = Pages(engine.public_url, self._statics, engine.clock)
        self._visits = Visits(auth.sessions, engine.public_url, self._pages.error)

    async def find_browser(self, request: Request) -> Browser | None:
        """The session behind a request's cookie."""
        return await self._visits.browser(request)

    async def is_signed_in(self, request: Request) -> bool:
        browser = await self.find_browser(request)
        return browser is not None and browser.account is not None

    async def show_error(self, request: Request, title: str, text: str) -> Response:
        """A page for what an app did wrong, of which only the person may be told."""
        problem = Problem(HTTPStatus.BAD_REQUEST, title, text)
        return await self._pages.error(await self._visits.arrive(request), problem)

    def refusal(self, status: int, text: str) -> Response:
        """A page for what the edge refuses, when somebody meets it in a browser."""
        return self._pages.refusal(refusal(status, text))

    def routes(self) -> list[Route]:
        """Every address for people."""
        page, data = self._visits.page, self._visits.data
        pages, engine, auth = self._pages, self._engine, self._auth
        consents, members = auth.consents, auth.members
        home = Home(pages, auth.accounts)
        set_up = SetUp(pages, auth.accounts, engine.store.directory.command("keys export FILE"))
        join = Join(pages, auth.accounts, members)
        sign_in = SignIn(pages, auth.accounts, auth.passkeys)
        recovery = Recovery(pages, auth.accounts, auth.sessions)
        sign_out = SignOut(pages)
        account = AccountPage(
            pages, engine.clock, auth.accounts, auth.passkeys, auth.sessions, auth.grants
        )
        people = MembersPage(pages, members, engine.public_url)
        vaults = VaultsPage(pages, engine, consents, members)
        consent = ConsentPage(pages, engine, consents)
        connections = ConnectionsPage(pages, consents, auth.grants, auth.keys, engine.clock)
        memory = MemoryPage(pages, engine, consents)
        return [
            Route("/", page(home.show), methods=READ),
            # coming in
            Route("/setup", page(set_up.show, set_up.submit), methods=BOTH),
            Route("/join", page(join.show, join.submit), methods=BOTH),
            Route("/sign-in", page(sign_in.show, sign_in.submit), methods=BOTH),
            Route("/sign-in/passkey-options", data(sign_in.passkey_options), methods=SEND),
            Route("/sign-in/recovery", page(recovery.show, recovery.submit), methods=BOTH),
            Route("/sign-out", page(sign_out.show, sign_out.submit), methods=BOTH),
            # what one lets in
            Route("/consent", page(consent.show, consent.submit), methods=BOTH),
            Route("/connections", page(connections.show, connections.submit), methods=BOTH),
            Route(
                "/connections/{id}",
                page(connections.show_one, connections.submit_one),
                methods=BOTH,
            ),
            # what one has
            Route("/vaults", page(vaults.show, vaults.submit), methods=BOTH),
            Route("/memories/{id}", page(memory.show, memory.submit), methods=BOTH),
            # who one is
            Route("/account", page(account.show, account.submit), methods=BOTH),
            Route("/account/passkey-options", data(account.passkey_options), methods=SEND),
            Route("/members", page(people.show, people.submit), methods=BOTH),
            # what pages are made of
            Route("/static/{name}", self._statics.serve, methods=READ),
        ]
