"""Where the browser goes next: to pages of ours, or back to an app with its answer."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

_LONGEST = 16_384
# Where signing in may lead to: pages of ours, and the endpoint that apps send people to.
_BACK = ("/", "/authorize", "/consent", "/connections", "/vaults", "/members", "/account", "/join")
_BACK_BELOW = ("/connections/", "/memories/")


def see_other(path: str, **query: str) -> Response:
    """303: whatever was sent, the browser goes on with a GET."""
    return go_to(f"{path}?{urlencode(query)}" if query else path)


def go_to(location: str) -> Response:
    """303 to the very bytes: Starlette's own redirect would quote a client's URI anew."""
    response = Response(status_code=303, headers={"Cache-Control": "no-store"})
    response.headers["location"] = location
    return response


def is_ours(location: str) -> bool:
    """A path of this server and nothing that a browser could read as another host."""
    path = location.partition("?")[0]
    is_plain = location.isascii() and location.isprintable() and "\\" not in location
    is_known = path in _BACK or any(
        path.startswith(below) and "/" not in path.removeprefix(below) for below in _BACK_BELOW
    )
    return is_plain and is_known and "#" not in location and len(location) <= _LONGEST
