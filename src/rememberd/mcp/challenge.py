"""`WWW-Authenticate` challenges: how a client learns where to sign in and which scopes to ask for.

Bytes must be stable: clients stop asking when a second identical challenge comes, and loop when it
differs (RFC 6750 §3, RFC 9728 §5.1).
"""

from __future__ import annotations

from collections.abc import Iterable

from rememberd.auth import scopes


def challenge(
    resource_metadata: str,
    wanted: Iterable[str],
    *,
    error: str | None = None,
    description: str | None = None,
) -> str:
    """One header line. `error` only when a token was sent (RFC 6750 §3.1).

    Clients take the first `scope=` they find, so the description comes last, without quotes.
    """
    parts = {
        "error": error,
        "resource_metadata": resource_metadata,
        "scope": " ".join(scopes.ordered(wanted)),
        "error_description": description,
    }
    return "Bearer " + ", ".join(f'{key}="{value}"' for key, value in parts.items() if value)


def step_up(resource_metadata: str, needed: str, granted: Iterable[str]) -> str:
    """For a token that lacks a scope: granted and needed, since clients replace and do not add."""
    return challenge(
        resource_metadata,
        {needed, *granted},
        error="insufficient_scope",
        description=f"This call needs {needed}",
    )
