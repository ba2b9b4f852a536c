"""`/account`: how somebody signs in, and where they are signed in.

New recovery codes are in one answer and never again; a new password ends every other session.
"""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import JSONResponse, Response

from rememberd.auth.accounts import Accounts
from rememberd.auth.grants import Grants
from rememberd.auth.passkeys import Passkeys
from rememberd.auth.sessions import Sessions
from rememberd.clock import Clock
from rememberd.console.problems import Problem
from rememberd.console.redirects import see_other
from rememberd.console.render import Pages
from rememberd.console.visits import Visit
from rememberd.console.words import plain_name
from rememberd.errors import Denied, InvalidInput
from rememberd.model import Account

RECOVERED = "recovered"
FRESH = timedelta(minutes=15)
_DONE = {
    "password": "The password was changed, and every other browser was signed out.",
    "passkey": "The passkey was added. You can sign in with it from now on.",
    "passkey-removed": "The passkey was removed. It no longer opens this account.",
    "sessions": "Every other browser was signed out.",
}


class AccountPage:
    def __init__(
        self,
        pages: Pages,
        clock: Clock,
        accounts: Accounts,
        passkeys: Passkeys,
        sessions: Sessions,
        grants: Grants,
    ) -> None:
        self._pages = pages
        self._clock = clock
        self._accounts = accounts
        self._passkeys = passkeys
        self._sessions = sessions
        self._grants = grants

    async def show(self, visit: Visit, problem: Problem | None = None) -> Response:
        account = visit.account
        is_back = problem is None and visit.query("done") == RECOVERED
        return await self._pages.page(
            visit,
            "account.html",
            problem,
            done=None if problem else _DONE.get(visit.query("done")),
            onward=visit.next if is_back else None,
            passkeys=await self._passkeys.list(account),
            apps=await self._count_apps(account) if is_back else 0,
            codes_left=await self._accounts.recovery_codes_left(account),
            is_fresh=self._is_fresh(visit),
            other_sessions=await self._sessions.count_others(await visit.known()),
        )

    async def submit(self, visit: Visit) -> Response:
        account, action = visit.account, visit.form.get("action")
        if action == "password" and account.has_password:
            return await self._change_password(visit)  # the current one says who it is
        if action == "sessions":
            await self._sessions.end_others(await visit.known())
            return see_other("/account", done="sessions")
        if not self._is_fresh(visit):
            return see_other("/sign-in", next="/account", again="yes")
        match action:
            case "password":
                return await self._change_password(visit)
            case "passkey":
                return await self._add_passkey(visit)
            case "remove-passkey":
                await self._passkeys.remove(account, visit.form.get("passkey"))
                return see_other("/account", done="passkey-removed")
            case "codes":
                codes = await self._accounts.new_recovery_codes(account)
                return await self._pages.page(visit, "codes.html", codes=codes)
            case _:
                raise InvalidInput("The form says nothing to do.")

    async def _count_apps(self, account: Account) -> int:
        now = self._clock.now()
        held = await self._grants.of_account(account.id)
        return sum(grant.ended_at(now) is None for grant in held)

    def _is_fresh(self, visit: Visit) -> bool:
        """Whether somebody just proved who they are: an open browser alone must not be enough to
        let in another way of signing in.
        """
        at = visit.browser.session.signed_in_at if visit.browser else None
        return at is not None and self._clock.now() - at < FRESH

    async def _change_password(self, visit: Visit) -> Response:
        account, form = visit.account, visit.form
        await self._accounts.change_password(
            account, form.secret("current") or None, form.secret("password")
        )
        await visit.begin(account)
        await self._sessions.end_others(await visit.known())
        return see_other("/account", done="password")

    async def _add_passkey(self, visit: Visit) -> Response:
        name = plain_name(visit.form.get("passkey_name")) or "Passkey"
        credential = visit.form.get("credential")
        await self._passkeys.register(await visit.known(), visit.account, credential, name)
        return see_other("/account", done="passkey")

    async def passkey_options(self, visit: Visit) -> Response:
        account = visit.account
        if not self._is_fresh(visit):
            raise Denied("You signed in some time ago. Sign out, sign in and try again.")
        options = await self._passkeys.registration_options(await visit.known(), account)
        return JSONResponse(options)
