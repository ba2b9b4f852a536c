"""What a form says, and whether a page of this server sent it.

The token in a form, which `visits.py` checks, is what counts; where a request says it comes from is
looked at first.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.datastructures import Headers

from rememberd.errors import InvalidInput

FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field
_MOST_FIELDS = 100


@dataclass(frozen=True, slots=True)
class Form:
    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, body: bytes) -> Form:
        """Raises InvalidInput."""
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise InvalidInput("The form cannot be read.") from None
        return cls(tuple(pairs))

    def get(self, name: str) -> str:
        """The first value, without blanks around it; empty when there is none."""
        return next((value.strip() for key, value in self.pairs if key == name), "")

    def secret(self, name: str) -> str:
        """As it was typed: blanks belong to a password."""
        return next((value for key, value in self.pairs if key == name), "")

    def all(self, name: str) -> frozenset[str]:
        return frozenset(value for key, value in self.pairs if key == name)


def is_from_elsewhere(headers: Headers, public_url: str) -> bool:
    """Fetch metadata says it best. A browser without it says `Origin: null` on forms of our own,
    because of our referrer policy, so `null` alone means nothing: the form token decides.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin", "null")
    is_host = origin.partition("://")[2] == headers.get("host")
    return not (is_host or origin in ("null", public_url))
