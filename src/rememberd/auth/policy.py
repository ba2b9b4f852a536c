"""The rules of the authorization server that need no database: redirects, PKCE, resource, scope.

Pure. Every rule names its source. What is not allowed here is refused before any redirect happens.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

# --- redirect URIs -----------------------------------------------------------------------------

MOST_REDIRECTS = 10
LONGEST_REDIRECT = 2_000
LOOPBACK = frozenset({"127.0.0.1", "[::1]", "localhost"})

# Schemes that a browser runs, shows or fetches: never a way back to an app.
_DANGEROUS = frozenset(
    {"javascript", "data", "file", "blob", "about", "vbscript", "view-source", "filesystem"}
    | {"ws", "wss", "ftp", "ftps", "intent", "content", "chrome", "resource", "jar", "mailto"}
    | {"tel", "sms", "gopher", "cid", "mid", "urn", "ldap", "ldaps", "ssh", "smb"}
    | {"feed", "shell", "jnlp", "callto", "steam", "opera", "brave", "vivaldi", "edge"}
)
# Schemes of browsers, which go on to a web address, and of what a system itself opens.
_HANDS_ON = re.compile(
    r".*(?:http|microsoft-edge|googlechrome|firefox|safari).*"
    r"|(?:ms|search|intent|opera|brave|feed|shell)-.*|(?:itms|x-apple).*"
)
# RFC 3986 §3.1, and nothing outside the characters a URI may hold (§2).
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):([!-~]*)")
_FORBIDDEN = re.compile(r"[\s\"<>\\^`{|}*#\x00-\x1f\x7f-\uffff]")
_DOTS = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)*[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
_PORT = re.compile(r"[0-9]{1,5}")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(.*))?")
_APP_AUTHORITY = re.compile(r"[A-Za-z0-9._~-]*")

Kind = Literal["web", "loopback", "app"]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect URI taken apart. `host` is lower case; an app's own scheme may have none."""

    uri: str
    kind: Kind
    scheme: str
    host: str
    port: str
    rest: str  #: path and query, as sent


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something is not allowed, for the developer of a client to read."""

    reason: str


def read_redirect(uri: str) -> Redirect | Refused:
    """One redirect URI: https, http on loopback (RFC 8252 §7.3) or an app's own scheme (§7.1)."""
    if len(uri) > LONGEST_REDIRECT:
        return Refused(f"longer than {LONGEST_REDIRECT} characters")
    shape = _SHAPE.fullmatch(uri)
    if shape is None or _FORBIDDEN.search(uri):
        return Refused("not an absolute URI of plain ASCII without fragment, wildcard or backslash")
    scheme, rest = shape[1].lower(), shape[2]
    if scheme in ("http", "https"):
        return _web(uri, scheme, rest)
    if scheme in _DANGEROUS or _HANDS_ON.fullmatch(scheme):
        return Refused(f"the scheme {scheme} leads to no app")
    return _app(uri, scheme, rest)


def _web(uri: str, scheme: str, rest: str) -> Redirect | Refused:
    if not rest.startswith("//"):
        return Refused("a web address needs // after the scheme")
    authority, path = _split(rest[2:])
    if "@" in authority or "%" in authority:
        return Refused("user names and encoded hosts are not allowed")
    host, port = _host_and_port(authority.lower())
    if port and (not _PORT.fullmatch(port) or not 0 < int(port) < 65536):
        return Refused("the port is not a number from 1 to 65535")
    if _DOTS.search(path.partition("?")[0]):
        return Refused("dot segments are not allowed in the path")
    if host in LOOPBACK:
        return Redirect(uri, "loopback" if scheme == "http" else "web", scheme, host, port, path)
    if scheme == "http":
        return Refused("http is for 127.0.0.1, [::1] and localhost only; use https")
    if not _HOST.fullmatch(host):
        return Refused("the host is not a plain domain name")
    return Redirect(uri, "web", scheme, host, port, path)


def _app(uri: str, scheme: str, rest: str) -> Redirect | Refused:
    """A private-use scheme, with authority (`cursor://…`) or without (`com.example:/…`)."""
    if not rest.startswith("/"):
        return Refused("an app's own scheme needs / or // after it")
    if ":" in rest or "%3a" in rest.lower():
        return Refused("an app's own scheme must not hold another address")
    authority, path = _split(rest[2:]) if rest.startswith("//") else ("", rest)
    if not _APP_AUTHORITY.fullmatch(authority):
        return Refused("what follows // is not a plain name")
    if not authority and not path.strip("/"):
        return Refused("nothing follows the scheme")
    if _DOTS.search(path.partition("?")[0]):
        return Refused("dot segments are not allowed in the path")
    return Redirect(uri, "app", scheme, authority.lower(), "", path)


def _split(text: str) -> tuple[str, str]:
    """Authority, and what begins with / or ?."""
    cut = re.search(r"[/?]", text)
    return (text[: cut.start()], text[cut.start() :]) if cut else (text, "")


def _host_and_port(authority: str) -> tuple[str, str]:
    read = _AUTHORITY.fullmatch(authority)
    return (read[1], read[2] or "") if read else ("", "")


def redirect_matches(registered: str, asked: str) -> bool:
    """Byte-equal, or loopback that differs in the port alone (RFC 8252 §7.3; `localhost` too, since
    Claude Code and VS Code use it). On loopback an empty path equals `/`.
    """
    if registered == asked:
        return True
    one, other = read_redirect(registered), read_redirect(asked)
    if isinstance(one, Refused) or isinstance(other, Refused):
        return False
    if one.kind != "loopback" or other.kind != "loopback" or one.host != other.host:
        return False
    return (one.rest or "/") == (other.rest or "/")


def find_redirect(registered: Iterable[str], asked: str | None) -> str | None:
    """The URI to go back to: the asked one if it matches, the only one if none was asked."""
    known = list(registered)
    if asked is None:
        return known[0] if len(known) == 1 else None
    if isinstance(read_redirect(asked), Refused):
        return None
    return asked if any(redirect_matches(one, asked) for one in known) else None


# --- PKCE (RFC 7636, S256 alone) ---------------------------------------------------------------

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def challenge_is_valid(challenge: str | None, method: str | None) -> bool:
    """Present and S256: an absent method means `plain` (RFC 7636 §4.3), which is refused."""
    return method == "S256" and challenge is not None and bool(_CHALLENGE.fullmatch(challenge))


def verifier_matches(verifier: str | None, challenge: str) -> bool:
    """RFC 7636 §4.6."""
    if verifier is None or not _VERIFIER.fullmatch(verifier):
        return False
    digest = hashlib.sha256(verifier.encode()).digest()
    made = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return hmac.compare_digest(made, challenge)


# --- resource and scope ------------------------------------------------------------------------


def resource_of(asked: str | None, served: Iterable[str], default: str) -> str | None:
    """The mount that is asked for (RFC 8707); absent means the default, None is `invalid_target`.

    Compared byte by byte: clients do the same (gemini-cli #15754).
    """
    if asked is None:
        return default
    return asked if asked in set(served) else None
