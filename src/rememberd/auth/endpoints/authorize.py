"""`/authorize`: check the request, keep it for this browser, and send the browser to consent.

A client that is a URL is looked up only for a person who has signed in (no stranger makes us
fetch), and nothing is ever approved without the page being shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rememberd.auth import requests
from rememberd.auth.clients import Clients
from rememberd.auth.consents import Consents
from rememberd.auth.endpoints.replies import NO_STORE, fields
from rememberd.auth.errors import OAuthError
from rememberd.auth.requests import SentBack, Shown
from rememberd.auth.sessions import Browser

FindBrowser = Callable[[Request], Awaitable[Browser | None]]
ShowError = Callable[[Request, str, str], Awaitable[Response]]


class Authorize:
    """`show_error` renders a page for the person; `find_browser` reads the session cookie."""

    def __init__(
        self,
        issuer: str,
        resources: Mapping[str, str],
        clients: Clients,
        consents: Consents,
        find_browser: FindBrowser,
        show_error: ShowError,
    ) -> None:
        self._issuer = issuer
        self._resources = resources
        self._clients = clients
        self._consents = consents
        self._find_browser = find_browser
        self._show_error = show_error

    async def answer(self, request: Request) -> Response:
        """GET or POST (OpenID Connect Core §3.1.2.1; some clients post)."""
        try:
            params = await self._params(request)
        except OAuthError as error:
            return await self._show_error(request, "This request cannot be read", error.message)
        client_id = params.get("client_id")
        if client_id is None:
            return await self._show_error(
                request, "This request names no app", "The parameter client_id is missing."
            )
        browser = await self._find_browser(request)
        signed_in = browser is not None and browser.account is not None
        if self._clients.needs_fetch(client_id) and not signed_in:
            return _to("/sign-in", next=f"/authorize?{urlencode(params)}")
        outcome = await self._check(params, client_id, request)
        if isinstance(outcome, Shown):
            return await self._show_error(request, outcome.title, outcome.text)
        if isinstance(outcome, SentBack):
            return _away(requests.with_error(outcome, self._issuer))
        if browser is None or not signed_in:
            return _to("/sign-in", next=f"/authorize?{urlencode(params)}")
        request_id = await self._consents.begin(browser, outcome)
        return _to("/consent", request=request_id)

    async def _params(self, request: Request) -> dict[str, str]:
        if request.method == "POST":
            return fields(await request.body())
        return fields(request.scope["query_string"])

    async def _check(
        self, params: Mapping[str, str], client_id: str, request: Request
    ) -> requests.AuthorizationRequest | Shown | SentBack:
        address = request.client.host if request.client else ""
        try:
            client = await self._clients.resolve(client_id, address)
        except OAuthError as error:
            if error.error == "temporarily_unavailable":
                return Shown(
                    "This app could not be looked up",
                    f"{error.message} Try again in a moment. A server without internet access "
                    "cannot look apps up; its owner can set client_documents to false, and apps "
                    "then register themselves.",
                )
            return Shown(
                "This app is not known here",
                f"{error.message} If you connected it before, remove the connection in the app "
                "and add it again.",
            )
        redirect_uri = requests.check_redirect(params, client)
        if isinstance(redirect_uri, Shown):
            return redirect_uri
        outcome = requests.check(params, client, redirect_uri, self._resources)
        if isinstance(outcome, SentBack) and not requests.may_be_sent(client, outcome):
            return Shown(
                "This app asked in a way that does not work",
                f"Nobody has let it in here before, so it was not told: {outcome.description}.",
            )
        return outcome


def _to(path: str, **query: str) -> Response:
    """303, so that a POST becomes a GET."""
    return RedirectResponse(f"{path}?{urlencode(query)}", 303, headers=NO_STORE)


def _away(location: str) -> Response:
    """Starlette's redirect would quote the URL anew; ours must go out byte for byte."""
    response = Response(status_code=303, headers=NO_STORE)
    response.headers["location"] = location
    return response
