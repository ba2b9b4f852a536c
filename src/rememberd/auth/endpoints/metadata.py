"""Discovery documents: RFC 8414, its OpenID spelling, and RFC 9728 for every MCP mount.

Made once from the public URL and never from a request's headers, so nobody can poison them; issuer
and resource are plain strings, the same bytes wherever they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from rememberd.model import READ

METHODS = ("none", "client_secret_post", "client_secret_basic", "private_key_jwt")
ALGORITHMS = ("RS256", "ES256")


class Metadata:
    """`paths` are those of the MCP mounts; the first one is what the root document describes."""

    def __init__(self, issuer: str, paths: Sequence[str], *, documents: bool) -> None:
        self.paths = tuple(paths)
        self._server = _server(issuer, paths, documents)
        self._openid = self._server | _openid(issuer)
        self._resources = {path: _resource(issuer, path) for path in paths}
        self._resources[""] = self._resources[paths[0]]

    async def authorization_server(self, _: Request) -> JSONResponse:
        return _cached(self._server)

    async def openid_configuration(self, _: Request) -> JSONResponse:
        return _cached(self._openid)

    async def protected_resource(self, request: Request) -> JSONResponse:
        """At the root, and below the path of each mount (RFC 9728 §3.1)."""
        path = request.path_params.get("path", "").rstrip("/")
        document = self._resources.get(f"/{path}" if path else "")
        if document is None:
            # JSON even so: clients parse what they find here (google_workspace_mcp #382).
            text = "There is no protected resource at this path."
            return JSONResponse({"error": "not_found", "error_description": text}, 404)
        return _cached(document)

    async def keys(self, _: Request) -> JSONResponse:
        """Tokens here are opaque, so there is nothing to verify them with."""
        return _cached({"keys": []})


def _cached(document: dict[str, Any]) -> JSONResponse:
    return JSONResponse(document, headers={"Cache-Control": "public, max-age=300"})


def _server(issuer: str, paths: Sequence[str], documents: bool) -> dict[str, Any]:
    """RFC 8414 §2. Some clients ask for every scope listed here, so only the usual ones are."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "revocation_endpoint": f"{issuer}/revoke",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "scopes_supported": [READ, "offline_access"],
        "token_endpoint_auth_methods_supported": list(METHODS),
        "token_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "revocation_endpoint_auth_methods_supported": list(METHODS),
        "revocation_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": documents,
        "protected_resources": [issuer + path for path in paths],
        "service_documentation": f"{issuer}/",
    }


def _openid(issuer: str) -> dict[str, Any]:
    """What OpenID Discovery §3 requires beside it; there is no `openid` scope."""
    return {
        "jwks_uri": f"{issuer}/jwks.json",
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def _resource(issuer: str, path: str) -> dict[str, Any]:
    """RFC 9728 §2."""
    return {
        "resource": issuer + path,
        "authorization_servers": [issuer],
        "scopes_supported": [READ],
        "bearer_methods_supported": ["header"],
        "resource_name": "rememberd",
    }
