"""Codes, tokens and grants: issued, exchanged, refreshed, narrowed, widened, revoked.

Every change is one transaction of control. A wrong guess touches nothing; a stolen token that shows
itself takes its whole grant with it (RFC 9700 §4.14.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from rememberd.auth import grant_ends as ends
from rememberd.auth import policy, roles, tokens, uses
from rememberd.auth.errors import OAuthError
from rememberd.clock import Clock, to_micros
from rememberd.errors import Conflict, Denied, NotFound
from rememberd.model import Client, Grant
from rememberd.store import oauth
from rememberd.store.oauth import Code, RefreshMatch
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction

CODE_LIFE = timedelta(seconds=60)
GRANT_LIFE = timedelta(days=180)  # however often it is refreshed
KEPT = timedelta(days=7)  # ended codes and tokens, so that replays are recognised


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long things last; settings."""

    access: timedelta = timedelta(hours=1)
    refresh: timedelta = timedelta(days=30)
    grace: timedelta = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Issued:
    """The only moment at which these tokens exist outside their owner's hands."""

    access_token: str
    refresh_token: str
    expires_in: int  #: seconds
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Approved:
    """What a person agreed to on the consent page."""

    account_id: str
    client: Client
    vault_id: str
    resource: str
    scopes: frozenset[str]
    redirect_uri: str
    redirect_in_request: str | None
    challenge: str
    document_digest: str | None = None


class Grants:
    """`key` derives codes and refresh tokens and is never in a database."""

    def __init__(self, store: Store, clock: Clock, key: bytes, lifetimes: Lifetimes) -> None:
        self._store = store
        self._clock = clock
        self._key = key
        self._lifetimes = lifetimes

    # -- from consent to code ----------------------------------------------------------------------

    def code_for(self, request_id: str) -> str:
        """The code that an approved request is answered with, each time the same."""
        return tokens.code_for(self._key, request_id)

    def approve(self, tx: Transaction, approved: Approved, code: str) -> None:
        """Make the grant, and `code` for it, good for a minute and one use."""
        now = self._clock.now()
        grant = Grant(
            id=self._clock.new_id("gnt"),
            account_id=approved.account_id,
            client_id=approved.client.id,
            client_name=approved.client.name,
            vault_id=approved.vault_id,
            resource=approved.resource,
            scopes=approved.scopes,
            redirect_uri=approved.redirect_uri,
            document_digest=approved.document_digest,
            created_at=now,
            expires_at=now + GRANT_LIFE,
        )
        oauth.add_grant(tx, grant)
        # A registration that came of age while the page was open may have been dropped.
        oauth.put_client(tx, approved.client)
        tx.run("touch_client", id=approved.client.id, at=to_micros(now))
        oauth.add_code(
            tx,
            Code(
                tokens.digest(code),
                grant.id,
                approved.client.id,
                approved.redirect_in_request,
                approved.challenge,
                now + CODE_LIFE,
            ),
        )
        self._record(
            tx,
            approved.account_id,
            "grant.approved",
            grant,
            scopes=sorted(grant.scopes),
            resource=grant.resource,
            redirect_uri=grant.redirect_uri.partition("?")[0],
        )

    # -- from code to tokens -----------------------------------------------------------------------

    async def exchange(
        self,
        client: Client,
        code: str,
        verifier: str | None,
        redirect_uri: str | None,
        resource: str | None,
    ) -> Issued:
        """RFC 6749 §4.1.3 with PKCE. Raises OAuthError `invalid_grant` or `invalid_target`.

        Only the client it was made for can burn a code, or be punished for using it twice.
        """

        def redeem(tx: Transaction) -> Issued | OAuthError:
            return self._redeem(tx, client, code, verifier, redirect_uri, resource)

        return _raise_if_error(await self._store.control.write(redeem))

    def _redeem(
        self,
        tx: Transaction,
        client: Client,
        code: str,
        verifier: str | None,
        redirect_uri: str | None,
        resource: str | None,
    ) -> Issued | OAuthError:
        now = self._clock.now()
        found = oauth.code(tx, tokens.digest(code)) if tokens.is_whole(code, "mac_") else None
        if found is None or found.client_id != client.id:
            return _INVALID_CODE
        grant = oauth.grant(tx, found.grant_id)
        if found.used_at is not None:
            self._revoke(tx, grant, "code replayed", now)
            return _INVALID_CODE
        if not policy.verifier_matches(verifier, found.challenge):
            tx.run("use_code", digest=found.digest, at=to_micros(now))
            return OAuthError("invalid_grant", "code_verifier does not match the challenge")
        role = ends.role_behind(tx, grant.id)
        if now >= found.expires_at or grant.revoked_at is not None or role is None:
            return _INVALID_CODE
        if found.redirect_uri is not None and redirect_uri != found.redirect_uri:
            return OAuthError("invalid_grant", "redirect_uri differs from the one in the request")
        if resource not in (None, grant.resource):
            return OAuthError("invalid_target", "resource differs from the one in the request")
        tx.run("use_code", digest=found.digest, at=to_micros(now))
        first = tokens.mint("mrt_")
        granted = grant.scopes & roles.scopes_of(role)
        oauth.add_refresh_token(
            tx,
            tokens.digest(first),
            grant.id,
            1,
            self._refresh_end(now, grant.expires_at),
            told=granted,
            narrowed=False,
        )
        return self._issue(tx, grant.id, granted, None, first, now)

    # -- refreshing --------------------------------------------------------------------------------

    async def refresh(
        self,
        client: Client,
        refresh_token: str,
        scopes: frozenset[str] | None,
        resource: str | None,
    ) -> Issued:
        """RFC 6749 §6 with rotation. Whoever repeats the last refresh within the grace window gets
        the same successor; anything older revokes the grant.

        Raises OAuthError `invalid_grant`, `invalid_scope` or `invalid_target`.
        """

        def rotate(tx: Transaction) -> Issued | OAuthError:
            return self._rotate(tx, client, refresh_token, scopes, resource)

        return _raise_if_error(await self._store.control.write(rotate))

    def _rotate(
        self,
        tx: Transaction,
        client: Client,
        refresh_token: str,
        scopes: frozenset[str] | None,
        resource: str | None,
    ) -> Issued | OAuthError:
        now = self._clock.now()
        digest = tokens.digest(refresh_token)
        whole = tokens.is_whole(refresh_token, "mrt_")
        found = oauth.match_refresh_token(tx, digest) if whole else None
        if found is None or found.client_id != client.id or found.is_revoked:
            return _INVALID_REFRESH
        if resource not in (None, found.resource):
            return OAuthError("invalid_target", "resource differs from that of the grant")
        if scopes is not None and not scopes <= found.scopes | found.told:
            return OAuthError("invalid_scope", "a refresh cannot add scopes; authorize again")
        role, place = ends.role_behind(tx, found.grant_id), self._place(found, now)
        if place == "stolen":
            self._revoke(tx, oauth.grant(tx, found.grant_id), "old refresh token used", now)
        if place in ("stolen", "ended") or role is None:
            return _INVALID_REFRESH
        successor = tokens.successor(self._key, refresh_token, found.grant_id)
        granted, narrowed = found.scopes & roles.scopes_of(role), _narrowed(found, scopes)
        if place == "current":
            tx.run("rotate_refresh_token", digest=digest, at=to_micros(now))
            oauth.add_refresh_token(
                tx,
                tokens.digest(successor),
                found.grant_id,
                found.place + 1,
                self._refresh_end(now, found.grant_expires_at),
                told=granted if narrowed is None else granted & narrowed,
                narrowed=narrowed is not None,
            )
        return self._issue(tx, found.grant_id, granted, narrowed, successor, now)

    def _place(
        self, found: RefreshMatch, now: datetime
    ) -> Literal["current", "repeated", "stolen", "ended"]:
        if found.place == found.newest_place:
            return "current" if now < min(found.expires_at, found.grant_expires_at) else "ended"
        rotated = found.rotated_at
        repeats = found.place == found.newest_place - 1 and rotated is not None
        if repeats and rotated and now - rotated <= self._lifetimes.grace:
            return "repeated"
        return "stolen"

    def _refresh_end(self, now: datetime, grant_end: datetime) -> datetime:
        return min(now + self._lifetimes.refresh, grant_end)

    def _issue(
        self,
        tx: Transaction,
        grant_id: str,
        granted: frozenset[str],
        narrowed: frozenset[str] | None,
        refresh_token: str,
        now: datetime,
    ) -> Issued:
        access = tokens.mint("mat_")
        life = self._lifetimes.access
        oauth.add_access_token(tx, tokens.digest(access), grant_id, narrowed, now + life)
        uses.note(tx, uses.GRANT, grant_id, now)
        return Issued(
            access,
            refresh_token,
            int(life.total_seconds()),
            granted if narrowed is None else granted & narrowed,
        )

    # -- ending and changing -----------------------------------------------------------------------

    async def revoke_token(self, client: Client, token: str) -> None:
        """RFC 7009: an access token alone, or with a refresh token the whole grant.

        What is unknown, or another client's, is left alone without a word.
        """
        digest, now = tokens.digest(token), self._clock.now()

        def end(tx: Transaction) -> None:
            access = oauth.match_access_token(tx, digest, now)
            if access is not None and access.client_id == client.id:
                tx.run("drop_access_token", digest=digest)
                return
            refresh = oauth.match_refresh_token(tx, digest)
            if refresh is not None and refresh.client_id == client.id:
                self._revoke(tx, oauth.grant(tx, refresh.grant_id), "revoked by the client", now)

        await self._store.control.write(end)

    async def of_account(self, account_id: str) -> list[Grant]:
        return await self._store.control.read(lambda tx: oauth.grants_of(tx, account_id))

    async def get(self, account_id: str, grant_id: str) -> Grant:
        """Raises NotFound, also for somebody else's."""
        return await self._store.control.read(lambda tx: _own(tx, account_id, grant_id))

    async def revoke(self, account_id: str, grant_id: str) -> None:
        """Works at once, for every token of the grant. Raises NotFound."""
        now = self._clock.now()

        def end(tx: Transaction) -> None:
            self._revoke(tx, _own(tx, account_id, grant_id), "revoked by its owner", now)

        await self._store.control.write(end)

    async def allow(self, account_id: str, grant_id: str, scope: str) -> None:
        """One scope more of a live grant, at once and without the client; the others stay as
        somebody else may be setting them.

        Raises NotFound, Denied for what the role of its owner does not reach.
        """

        def enter(tx: Transaction) -> None:
            grant = _own(tx, account_id, grant_id)
            if scope not in roles.scopes_of(ends.role_behind(tx, grant_id)):
                raise Denied("Your role in this vault does not let you allow that.")
            self._set_scopes(tx, grant, grant.scopes | {scope})

        await self._store.control.write(enter)

    async def stop(self, account_id: str, grant_id: str, scope: str) -> None:
        """One scope less. Raises NotFound, Conflict for the last one."""

        def enter(tx: Transaction) -> None:
            grant = _own(tx, account_id, grant_id)
            if grant.scopes <= {scope}:
                raise Conflict("That is all that this connection may do. Disconnect it instead.")
            self._set_scopes(tx, grant, grant.scopes - {scope})

        await self._store.control.write(enter)

    def _set_scopes(self, tx: Transaction, grant: Grant, scopes: frozenset[str]) -> None:
        if oauth.set_grant_scopes(tx, grant.id, scopes):
            self._record(tx, grant.account_id, "grant.changed", grant, scopes=sorted(scopes))

    def _revoke(self, tx: Transaction, grant: Grant, why: str, now: datetime) -> None:
        ends.end(tx, grant, why=why, actor=grant.account_id, now=now)

    def _record(
        self, tx: Transaction, actor: str, action: str, grant: Grant, **more: object
    ) -> None:
        ends.record(tx, actor, action, grant, self._clock.now(), **more)

    async def expire(self) -> None:
        """Drop what ended some time ago; a worker calls this now and then."""
        now = self._clock.now()
        await self._store.control.write(lambda tx: oauth.expire(tx, now, now - KEPT))


_INVALID_CODE = OAuthError("invalid_grant", "the code is unknown, used or expired")
_INVALID_REFRESH = OAuthError("invalid_grant", "the refresh token is unknown, used or revoked")


def _raise_if_error(outcome: Issued | OAuthError) -> Issued:
    """Errors are values inside the transaction: raising there would roll a revocation back."""
    if isinstance(outcome, OAuthError):
        raise OAuthError(outcome.error, outcome.description)
    return outcome


def _narrowed(found: RefreshMatch, asked: frozenset[str] | None) -> frozenset[str] | None:
    """What a refresh asks for if that is less than it can have; None for all.

    Some clients repeat the scopes of their last answer each time (mcp-remote). That is no wish for
    less: else what their owner allowed since would be lost again.
    """
    repeats = asked == found.told and not found.is_narrowed
    return None if asked is None or asked == found.scopes or repeats else asked


def _own(tx: Transaction, account_id: str, grant_id: str) -> Grant:
    grant = oauth.grant(tx, grant_id)
    if grant.account_id != account_id:
        raise NotFound("There is no such connection.")
    return grant
