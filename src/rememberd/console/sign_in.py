"""`/sign-in`, with password or passkey; `/sign-in/recovery`; `/sign-out`.

The session's id changes each time, and nothing here tells whether an email is known.
"""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from rememberd.auth import password_rules
from rememberd.auth.accounts import Accounts
from rememberd.auth.passkeys import Passkeys
from rememberd.auth.sessions import Sessions
from rememberd.console.account import RECOVERED
from rememberd.console.problems import Problem
from rememberd.console.redirects import go_to, see_other
from rememberd.console.render import Pages
from rememberd.console.visits import Visit
from rememberd.errors import Denied
from rememberd.model import Account


class SignIn:
    def __init__(self, pages: Pages, accounts: Accounts, passkeys: Passkeys) -> None:
        self._pages = pages
        self._accounts = accounts
        self._passkeys = passkeys

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        """Whoever signed in meanwhile, in another tab, simply goes on."""
        is_again = visit.account_if_any is not None and bool(visit.query("again"))
        if visit.account_if_any is not None and not is_again:
            return go_to(visit.next)
        recovery = see_other("/sign-in/recovery", next=visit.next).headers["location"]
        return await self._pages.page(
            visit,
            "sign_in.html",
            problem,
            is_again=is_again,
            is_for_app=visit.next.startswith(("/authorize", "/consent")),
            recovery=recovery,
        )

    async def submit(self, visit: Visit) -> Response:
        await visit.begin(await self._account(visit))
        return go_to(visit.next)

    async def _account(self, visit: Visit) -> Account:
        """Raises Denied, TooManyAttempts."""
        if visit.form.get("action") == "passkey":
            credential = visit.form.get("credential")
            account = await self._passkeys.sign_in(await visit.known(), credential)
            await self._accounts.signed_in_with_passkey(account)
            return account
        return await self._accounts.sign_in(
            visit.form.get("email"), visit.form.secret("password"), visit.address
        )

    async def passkey_options(self, visit: Visit) -> Response:
        return JSONResponse(await self._passkeys.sign_in_options(await visit.known()))


class Recovery:
    """A recovery code and a new password; every other browser is signed out, and what else can get
    in is shown next.
    """

    def __init__(self, pages: Pages, accounts: Accounts, sessions: Sessions) -> None:
        self._pages = pages
        self._accounts = accounts
        self._sessions = sessions

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        back = see_other("/sign-in", next=visit.next).headers["location"]
        return await self._pages.page(visit, "recovery.html", problem, sign_in=back)

    async def submit(self, visit: Visit) -> Response:
        password = visit.form.secret("password")
        password_rules.check(password, visit.form.get("email"))  # before a code is used up
        try:
            account = await self._accounts.recover(
                visit.form.get("email"), visit.form.get("code"), visit.address
            )
        except Denied:
            raise Denied("Email or recovery code is wrong, or the code was used before.") from None
        await self._accounts.reset_password(account, password)
        await visit.begin(account)
        await self._sessions.end_others(await visit.known())
        return see_other("/account", done=RECOVERED, next=visit.next)


class SignOut:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        return await self._pages.page(visit, "sign_out.html", problem)

    async def submit(self, visit: Visit) -> Response:
        """What an app asked for stays with the browser, for whoever signs in next."""
        await visit.begin(None)
        if visit.query("next"):
            return see_other("/sign-in", next=visit.next)
        return see_other("/")
