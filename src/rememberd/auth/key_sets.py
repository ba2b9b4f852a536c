"""The public keys that clients sign with: from their metadata, or fetched from their `jwks_uri`.

Fetched for clients alone that a person has let in before. Kept in memory for as long as HTTP
caching says, and a day longer when they cannot be had again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from rememberd.auth.answers import Unfetched
from rememberd.auth.client_metadata import check_key_set
from rememberd.auth.fetch import Fetcher
from rememberd.auth.limits import Window
from rememberd.clock import Clock
from rememberd.model import Client

LONGEST_KEY_SET = 65_536  # bytes: certificates beside the keys take room
OUTLIVE = timedelta(hours=24)
_MOST_KEPT = 100
_PAUSE = 60  # seconds between two looks for a key that is missing

Keys = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class _Kept:
    keys: Keys
    stale_at: datetime


class KeySets:
    def __init__(self, clock: Clock, fetcher: Fetcher) -> None:
        self._clock = clock
        self._fetcher = fetcher
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._looks = Window(1, _PAUSE, clock)

    async def of(self, client: Client) -> Keys | Unfetched:
        """The client's keys, whatever their kind."""
        if client.jwks is not None:
            return client.jwks["keys"]
        if client.jwks_uri is None:
            return ()
        if client.used_at is None:
            # Or anybody could register, and have us send requests wherever they like.
            return Unfetched("nobody has let this client in yet")
        kept = self._kept.get(client.jwks_uri)
        if kept is not None and self._clock.now() < kept.stale_at:
            return kept.keys
        return await self._fetch(client.jwks_uri, client.id)

    async def newest(self, client: Client) -> Keys | Unfetched:
        """After a key was not among those of `of`: ask again, at most once a minute."""
        if client.jwks_uri is None:
            return ()
        if self._looks.take(client.jwks_uri) is not None:
            # Not known to be wrong: others may have used up the look by asking for nonsense.
            return Unfetched("they were fetched a moment ago", passing=True)
        return await self._fetch(client.jwks_uri, client.id)

    async def _fetch(self, url: str, requester: str) -> Keys | Unfetched:
        now = self._clock.now()
        outcome = await self._fetcher.get(url, requester=requester, limit=LONGEST_KEY_SET)
        if not isinstance(outcome, Unfetched):
            problem = check_key_set(outcome.document)
            if problem is None:
                keys: Keys = outcome.document["keys"]
                self._keep(url, _Kept(keys, now + outcome.fresh_for))
                return keys
            outcome = Unfetched(problem.reason)
        kept = self._kept.get(url)
        if kept is not None and now < kept.stale_at + OUTLIVE:
            return kept.keys
        return replace(outcome, passing=True)  # even a 404: publishers err, and mend it

    def _keep(self, url: str, kept: _Kept) -> None:
        self._kept[url] = kept
        self._kept.move_to_end(url)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
