"""Fetches one small JSON document of a stranger's choosing, in a way that can harm nobody.

Only over https, only from public addresses, never along a redirect or through a proxy, never more
or longer than allowed; and a failure never tells what our own network looks like.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rememberd.auth import public_addresses
from rememberd.auth.answers import Outcome, Unfetched, read_answer
from rememberd.auth.https_url import Place, read_url
from rememberd.auth.limits import Window
from rememberd.auth.policy import Refused
from rememberd.clock import Clock

_AT_ONCE = 8
_PER_MINUTE = 20


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, from the system's resolver in a thread. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@dataclass(frozen=True)
class Network:
    """How the world is reached. A test puts a server of its own in this place."""

    resolve: Callable[[str, int], Awaitable[Sequence[str]]] = resolve
    is_public: Callable[[str], bool] = public_addresses.is_public
    make_context: Callable[[], ssl.SSLContext] = ssl.create_default_context
    ports: frozenset[int] = frozenset({443})
    patience: float = 5.0  #: seconds for a connection
    total: float = 10.0  #: seconds for everything

    @cached_property
    def context(self) -> ssl.SSLContext:
        """Holds every root certificate of the system, so it is made once, at first use."""
        return self.make_context()


class Fetcher:
    """One per server: it bounds what all fetches together may take, and how often one host hears
    from us.
    """

    def __init__(self, clock: Clock, network: Network | None = None) -> None:
        self._network = network or Network()
        self._by_host = Window(_PER_MINUTE, 60, clock)
        self._by_requester = Window(_PER_MINUTE, 60, clock)
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._flights: dict[tuple[str, int], asyncio.Future[Outcome]] = {}

    async def get(self, url: str, *, requester: str, limit: int) -> Outcome:
        """Fetch at most `limit` bytes on behalf of `requester`, an account or an address.

        Those who ask for the same at the same time share one answer; afterwards nothing is kept.
        """
        key = (url, limit)
        if key in self._flights:
            return await asyncio.shield(self._flights[key])
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        outcome: Outcome = Unfetched("whoever asked for it first gave up waiting", passing=True)
        try:
            outcome = await self._get(url, requester, limit)
        finally:
            del self._flights[key]
            flight.set_result(outcome)
        return outcome

    async def _get(self, url: str, requester: str, limit: int) -> Outcome:
        place = read_url(url)
        if isinstance(place, Refused):
            return Unfetched(place.reason)
        if place.port not in self._network.ports:
            return Unfetched("only the usual port of https is allowed")
        busy = _too_often(self._by_requester, requester) or _too_often(self._by_host, place.host)
        return busy or await self._ask(place, limit)

    async def _ask(self, place: Place, limit: int) -> Outcome:
        from rememberd.auth import transport  # noqa: PLC0415 - a start needs no HTTP client

        network = self._network
        try:
            async with asyncio.timeout(network.total), self._room:
                addresses = await self._addresses(place)
                if isinstance(addresses, Unfetched):
                    return addresses
                answer = await transport.get(
                    place, addresses, network.context, limit=limit, patience=network.patience
                )
        except TimeoutError:
            return Unfetched("the host took too long to answer", passing=True)
        except OSError:
            return Unfetched("the host could not be reached over https", passing=True)
        except ValueError as error:
            return Unfetched(f"the answer is {error}")
        return read_answer(answer)

    async def _addresses(self, place: Place) -> Sequence[str] | Unfetched:
        """All of them or none: a host that also leads inside is not one to talk to. A name that
        does not resolve answers alike, so that nobody can probe for the names of our network.
        """
        try:
            addresses = await self._network.resolve(place.host, place.port)
        except (OSError, UnicodeError):
            addresses = ()
        if not addresses or not all(map(self._network.is_public, addresses)):
            return Unfetched("the host has no public address", passing=True)
        # Many names can lead to one victim, so its address is counted too.
        return _too_often(self._by_host, addresses[0]) or addresses


def _too_often(window: Window, key: str) -> Unfetched | None:
    wait = window.take(key)
    if wait is None:
        return None
    return Unfetched(f"asked for too often; wait {wait.seconds} seconds", passing=True)
