"""One request of a person: which browser it came from, what its form says, and whether to trust it.

A form counts only when this server made it for this very browser. Every page goes through here, so
none can forget to check.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rememberd.auth.limits import address_key
from rememberd.auth.sessions import Browser, Sessions
from rememberd.console.cookies import SessionCookie
from rememberd.console.forms import FORM_TOKEN, Form, is_from_elsewhere
from rememberd.console.problems import ELSEWHERE, STALE, UNSAFE, Problem
from rememberd.console.redirects import is_ours, see_other
from rememberd.errors import (
    Conflict,
    Denied,
    InvalidInput,
    RememberdError,
    TooManyAttempts,
    Unauthenticated,
)
from rememberd.model import Account


class Visit:
    """`browser` changes when somebody signs in or out; the cookie follows it."""

    def __init__(
        self, request: Request, sessions: Sessions, browser: Browser | None, public_url: str
    ) -> None:
        self.request = request
        self.browser = browser
        self.form = Form()
        self._sessions = sessions
        self._public_url = public_url
        self._arrived_as = browser

    @property
    def account_if_any(self) -> Account | None:
        return self.browser.account if self.browser else None

    @property
    def account(self) -> Account:
        """Raises Unauthenticated, which leads to the sign-in page and back."""
        if self.account_if_any is None:
            raise Unauthenticated
        return self.account_if_any

    @property
    def here(self) -> str:
        """Path and query: where to come back to."""
        url = self.request.url
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def address(self) -> str:
        """What attempts are counted by."""
        return address_key(self.request.client.host if self.request.client else "")

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "")

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    @property
    def next(self) -> str:
        """Where the query says to go after signing in; the start page when that is not ours."""
        return wanted if (wanted := self.query("next")) and is_ours(wanted) else "/"

    # -- the browser -------------------------------------------------------------------------------

    async def known(self) -> Browser:
        """The browser, given an anonymous session if it has none: forms need one."""
        if self.browser is None:
            self.browser = await self._sessions.begin()
        return self.browser

    async def begin(self, account: Account | None) -> None:
        """Sign in, or out with None: a new session id, since an old one may be known to others."""
        self.browser = await self._sessions.begin(account, self.browser)

    async def form_token(self) -> str:
        return self._sessions.form_token(await self.known())

    async def read_form(self) -> Problem | None:
        """Take in the form; what speaks against it, if anything does."""
        if is_from_elsewhere(self.request.headers, self._public_url):
            return ELSEWHERE
        self.form = Form.read(await self.request.body())
        token = self.form.get(FORM_TOKEN)
        is_ours = self.browser is not None and self._sessions.owns_form(self.browser, token)
        return None if is_ours else STALE

    def leave(self, response: Response, cookie: SessionCookie) -> Response:
        if self.browser is not None and self.browser is not self._arrived_as:
            cookie.set(response, self.browser.token)
        return response


class Show(Protocol):
    def __call__(self, visit: Visit, problem: Problem | None = None, /) -> Awaitable[Response]: ...


Submit = Callable[[Visit], Awaitable[Response]]
ShowError = Callable[[Visit, Problem], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Visits:
    def __init__(self, sessions: Sessions, public_url: str, show_error: ShowError) -> None:
        self._sessions = sessions
        self._public_url = public_url
        self._cookie = SessionCookie.of(public_url)
        self._show_error = show_error

    async def browser(self, request: Request) -> Browser | None:
        return await self._sessions.find(self._cookie.read(request))

    async def arrive(self, request: Request) -> Visit:
        return Visit(request, self._sessions, await self.browser(request), self._public_url)

    def page(self, show: Show, submit: Submit | None = None) -> Endpoint:
        """One address: `show` answers GET, and a POST that was not done, saying why."""

        async def endpoint(request: Request) -> Response:
            visit = await self.arrive(request)
            try:
                response = await self._answer(visit, show, submit)
            except Unauthenticated:
                response = see_other("/sign-in", next=visit.here)
            except RememberdError as error:
                response = await self._show_error(visit, Problem.of(error))
            return visit.leave(response, self._cookie)

        return endpoint

    async def _answer(self, visit: Visit, show: Show, submit: Submit | None) -> Response:
        if not self._cookie.is_safe:
            return await self._show_error(visit, UNSAFE)
        if submit is None or visit.request.method != "POST":
            return await show(visit)
        try:
            problem = await visit.read_form()
            return await (submit(visit) if problem is None else show(visit, problem))
        except (InvalidInput, Denied, Conflict, TooManyAttempts) as error:
            return await show(visit, Problem.of(error))

    def data(self, answer: Submit) -> Endpoint:
        """An address that the script of a page asks for JSON, with that page's form token."""

        async def endpoint(request: Request) -> Response:
            visit = await self.arrive(request)
            try:
                problem = UNSAFE if not self._cookie.is_safe else await visit.read_form()
                response = _as_data(problem) if problem else await answer(visit)
            except Unauthenticated:
                response = _as_data(STALE)
            except RememberdError as error:
                response = _as_data(Problem.of(error))
            return visit.leave(response, self._cookie)

        return endpoint


def _as_data(problem: Problem) -> Response:
    body = {"error": problem.title, "error_description": problem.text}
    return JSONResponse(body, problem.status, {"Cache-Control": "no-store"})
