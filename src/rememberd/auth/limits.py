"""Bounds on how often something may be tried, in memory: per address, and per account.

Nothing here is kept over a restart, and nothing locks an owner out for good.
"""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from rememberd.clock import Clock

_MOST_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Wait:
    """Refused for now; `seconds` until trying again makes sense (at least 1)."""

    seconds: int


class Window:
    """At most `most` events within `seconds` for each key. Events over that push the oldest out, so
    whoever keeps on keeps waiting.
    """

    def __init__(self, most: int, seconds: float, clock: Clock) -> None:
        self.most = most
        self.seconds = seconds
        self._clock = clock
        self._events: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, key: str) -> Wait | None:
        """Would one more be too many? Counts nothing."""
        events = self._recent(key)
        if len(events) < self.most:
            return None
        return _wait(events[0] + self.seconds - self._now())

    def count(self, key: str) -> None:
        self._recent(key).append(self._now())

    def take(self, key: str) -> Wait | None:
        """Check, and count unless refused."""
        refused = self.check(key)
        if refused is None:
            self.count(key)
        return refused

    def give_back(self, key: str) -> None:
        """What was counted last did not come to be."""
        if events := self._recent(key):
            events.pop()

    def _recent(self, key: str) -> deque[float]:
        events = self._events.setdefault(key, deque(maxlen=self.most))
        self._events.move_to_end(key)
        while events and events[0] <= self._now() - self.seconds:
            events.popleft()
        if len(self._events) > _MOST_KEYS:
            self._events.popitem(last=False)
        return events

    def _now(self) -> float:
        return self._clock.now().timestamp()


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last: float = 0.0


@dataclass(slots=True)
class Backoff:
    """Failures in a row make one wait longer each time, up to `longest` seconds; never for good."""

    clock: Clock
    free: int = 5  #: failures before the first wait
    longest: float = 300.0
    _failures: OrderedDict[str, _Failures] = field(default_factory=OrderedDict[str, _Failures])

    def check(self, key: str) -> Wait | None:
        held = self._failures.get(key)
        if held is None or held.count < self.free:
            return None
        pause = min(self.longest, 2.0 ** (held.count - self.free))
        left = held.last + pause - self.clock.now().timestamp()
        return _wait(left) if left > 0 else None

    def failed(self, key: str) -> None:
        held = self._failures.setdefault(key, _Failures())
        held.count += 1
        held.last = self.clock.now().timestamp()
        self._failures.move_to_end(key)
        if len(self._failures) > _MOST_KEYS:
            self._failures.popitem(last=False)

    def succeeded(self, key: str) -> None:
        self._failures.pop(key, None)


def _wait(seconds: float) -> Wait:
    return Wait(max(1, math.ceil(seconds)))


def address_key(address: str) -> str:
    """One subscriber: an IPv4 address, or the /64 that an IPv6 subscriber has all of."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
