"""Discovery documents: RFC 8414, its OpenID spelling, and RFC 9728 for every MCP mount.

Made once from the public URL and never from a request's headers, so nobody can poison them; issuer
and resource are plain strings, the same bytes wherever they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rememberd.model import READ

METHODS = ("none", "client_secret_post", "client_secret_basic", "private_key_jwt")
ALGORITHMS = ("RS256", "ES256")


class Metadata:
    """Each document as it is sent, whoever asks. `paths` are those of the MCP mounts."""

    def __init__(self, issuer: str, paths: Sequence[str], *, documents: bool) -> None:
        self.paths = tuple(paths)
        server = _server(issuer, paths, documents)
        self.authorization_server = _cached(server)
        self.openid_configuration = _cached(server | _openid(issuer))
        self.keys = _cached({"keys": []})  # tokens here are opaque: there is nothing to verify
        self.resources = {path: _cached(_resource(issuer, path)) for path in paths}
        self.first_resource = self.resources[paths[0]]  #: what the root document describes

    async def protected_resource(self, request: Request) -> Response:
        """Below the root, whatever the path: as a mount is spelled, with a slash, or unknown."""
        path = request.path_params["path"].rstrip("/")
        found = self.resources.get(f"/{path}") if path else self.first_resource
        if found is None:
            # JSON even so: clients parse what they find here (google_workspace_mcp #382).
            text = "There is no protected resource at this path."
            return JSONResponse({"error": "not_found", "error_description": text}, 404)
        return found


def _cached(document: dict[str, Any]) -> Response:
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
