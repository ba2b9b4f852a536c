"""Exit codes of every command, and errors as they come back from the owner of the data directory.

The codes are an interface: scripts test them, so a number never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator

from rememberd import errors
from rememberd.errors import RememberdError

# The first class that fits decides, so a subclass stands above its base.
EXITS: tuple[tuple[type[RememberdError], int, str], ...] = (
    (errors.InvalidInput, 2, "a wrong argument, setting or value"),
    (errors.NotFound, 3, "there is no such thing"),
    (errors.Unauthenticated, 4, "the key is unknown or revoked"),
    (errors.Denied, 4, "the key does not reach that far"),
    (errors.DataDirectoryBusy, 5, "another process owns the data directory"),
    (errors.OwnerUnreachable, 5, "the owner of the data directory does not answer"),
    (errors.AddressUnavailable, 5, "the address or port is taken"),
    (errors.OutcomeUnknown, 6, "the connection broke: it may have been done, or not"),
    (errors.QuotaExceeded, 7, "the monthly token allowance is used up"),
    (errors.Conflict, 8, "the name is taken, or it was done before"),
    (RememberdError, 1, "it did not work, or a check failed"),
)
INTERRUPTED = 130


class Refusal(RememberdError):
    """What the owner of the data directory refused; `reason` is the code it gave."""

    code = "refusal"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def exit_code(error: RememberdError) -> int:
    """The number that says this to a script."""
    kind = _named(error.reason) if isinstance(error, Refusal) else type(error)
    return next(code for base, code, _ in EXITS if issubclass(kind, base))


def _named(code: str) -> type[RememberdError]:
    return next((kind for kind in _tree(RememberdError) if kind.code == code), RememberdError)


def _tree(root: type[RememberdError]) -> Iterator[type[RememberdError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)
