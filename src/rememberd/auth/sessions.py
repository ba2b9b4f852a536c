"""Browser sessions: a random cookie, its hash in control, and a token that proves a form is ours.

The id changes at every sign-in and sign-out (session fixation); the form token is derived from the
session, so one browser's forms are worth nothing in another.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import timedelta

from rememberd.auth import tokens
from rememberd.clock import Clock, to_micros
from rememberd.model import Account
from rememberd.store import sessions
from rememberd.store.sessions import Session
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction

IDLE = timedelta(hours=12)
LONGEST = timedelta(days=30)  # from signing in, however much it is used: a stolen cookie ends
ANONYMOUS = timedelta(hours=1)
_TOUCH = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Browser:
    """What a request's cookie stands for. `token` is the cookie's value."""

    token: str
    session: Session

    @property
    def account(self) -> Account | None:
        return self.session.account


class Sessions:
    """`key` makes form tokens and is never in a database."""

    def __init__(self, store: Store, clock: Clock, key: bytes) -> None:
        self._store = store
        self._clock = clock
        self._key = key

    async def find(self, token: str | None) -> Browser | None:
        """The live session behind a cookie; None when there is none."""
        if token is None or not tokens.is_whole(token, "mss_"):
            return None
        digest, now = tokens.digest(token), self._clock.now()
        found = self._store.control.read_here(lambda tx: sessions.session(tx, digest, now))
        if found is None:
            return None
        if now - found.seen_at > _TOUCH:
            await self._touch(found)
        return Browser(token, found)

    async def _touch(self, session: Session) -> None:
        now = self._clock.now()
        until = now + (IDLE if session.account else ANONYMOUS)
        if session.signed_in_at is not None:
            until = min(until, session.signed_in_at + LONGEST)
        await self._store.control.write(
            lambda tx: tx.run(
                "touch_session",
                digest=session.digest,
                at=to_micros(now),
                expires_at=to_micros(until),
            )
        )

    async def begin(self, account: Account | None = None, old: Browser | None = None) -> Browser:
        """A new session under a new id; what `old` was in the middle of comes along."""
        token, now = tokens.mint("mss_"), self._clock.now()
        digest = tokens.digest(token)
        until = now + (IDLE if account else ANONYMOUS)

        def enter(tx: Transaction) -> Session:
            sessions.add_session(tx, digest, account.id if account else None, now, until)
            if old is not None:
                tx.run("rebind_requests", **{"from": old.session.digest, "to": digest})
                tx.run("end_session", digest=old.session.digest)
            found = sessions.session(tx, digest, now)
            if found is None:
                raise LookupError("a session that was just made is missing")
            return found

        return Browser(token, await self._store.control.write(enter))

    async def end(self, browser: Browser) -> None:
        digest = browser.session.digest
        await self._store.control.write(lambda tx: tx.run("end_session", digest=digest))

    async def count_others(self, browser: Browser) -> int:
        """In how many other browsers its account is signed in."""
        account, digest, now = browser.account, browser.session.digest, self._clock.now()
        if account is None:
            return 0
        return await self._store.control.read(
            lambda tx: sessions.other_sessions(tx, account.id, digest, now)
        )

    async def end_others(self, browser: Browser) -> None:
        """After a password change: every other browser has to sign in again."""
        account = browser.account
        if account is None:
            return
        digest = browser.session.digest
        await self._store.control.write(
            lambda tx: tx.run("end_sessions", account_id=account.id, but=digest)
        )

    def form_token(self, browser: Browser) -> str:
        """Goes into every form of this browser as a hidden field."""
        return hmac.new(self._key, browser.token.encode(), "sha256").hexdigest()

    def owns_form(self, browser: Browser, form_token: str | None) -> bool:
        return form_token is not None and hmac.compare_digest(self.form_token(browser), form_token)

    # -- passkey challenges ------------------------------------------------------------------------

    async def set_challenge(self, browser: Browser, challenge: bytes) -> None:
        digest = browser.session.digest
        await self._store.control.write(
            lambda tx: tx.run("set_challenge", digest=digest, challenge=challenge)
        )

    async def take_challenge(self, browser: Browser) -> bytes | None:
        """The challenge handed out last, once."""
        digest, now = browser.session.digest, self._clock.now()

        def take(tx: Transaction) -> bytes | None:
            found = sessions.session(tx, digest, now)
            tx.run("set_challenge", digest=digest, challenge=None)
            return found.challenge if found else None

        return await self._store.control.write(take)
