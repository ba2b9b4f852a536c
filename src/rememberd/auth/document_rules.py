"""Client ID Metadata Documents: which URLs may be a client_id, and which documents count. Pure.

The rules are those of draft-ietf-oauth-client-id-metadata-document-00 §3 and §4, and of the MCP
specification (2026-07-28, client registration).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rememberd.auth.client_metadata import (
    SHARED_SECRETS,
    PublicKeys,
    read_algorithm,
    read_keys,
    read_name,
    read_redirects,
)
from rememberd.auth.https_url import Place, read_url
from rememberd.auth.policy import Refused

_KEPT = ("token_endpoint_auth_method", "token_endpoint_auth_signing_alg")


@dataclass(frozen=True, slots=True)
class Described:
    """A client as its document has it."""

    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str
    keys: PublicKeys
    metadata: dict[str, Any]  #: what is kept of the rest, and a digest over all of it


def is_url(client_id: str) -> bool:
    """Ids that we give out never begin like this."""
    return client_id.startswith("https://")


def read_client_id(client_id: str) -> Place | Refused:
    """A URL that can be fetched, with a path of its own (§3); it is never normalised."""
    place = read_url(client_id)
    if isinstance(place, Place) and place.target.partition("?")[0] == "/":
        return Refused("the URL has no path")
    return place


def read_document(client_id: str, document: Mapping[str, Any]) -> Described | Refused:
    """What a client may be shown and used as. Members that we do not know are passed over, and so
    are grant types: VS Code lists one of its own (toolhive #6290).
    """
    if document.get("client_id") != client_id:
        return Refused("client_id: not the address of the document, character by character")
    if document.keys() & {"client_secret", "client_secret_expires_at"}:
        return Refused("client_secret: has no place in a public document")
    name = read_name(document.get("client_name"))
    if isinstance(name, Refused) or not name:
        return Refused("client_name: missing or empty")
    redirect_uris = _redirect_uris(document)
    if isinstance(redirect_uris, Refused):
        return redirect_uris
    keys = read_keys(document)
    if isinstance(keys, Refused):
        return keys
    method = _method(document, keys)
    if isinstance(method, Refused):
        return method
    return Described(name, redirect_uris, method, keys, _kept(document))


def _redirect_uris(document: Mapping[str, Any]) -> tuple[str, ...] | Refused:
    """The usable ones. Nobody is there to tell of the others, and one that is dropped opens
    nothing, while refusing the document would lock out every user of the client.
    """
    redirects = read_redirects(document.get("redirect_uris"))
    if isinstance(redirects, Refused):
        return redirects
    return redirects.uris or redirects.refused[0]


def _method(document: Mapping[str, Any], keys: PublicKeys) -> str | Refused:
    """`none` wherever it is offered, else `private_key_jwt`. ChatGPT offers both in one document
    and may use either (django-oauth-toolkit #1845, engram #1633).
    """
    stated = document.get("token_endpoint_auth_method")
    if stated in SHARED_SECRETS:
        return Refused("token_endpoint_auth_method: a public document shares no secret")
    offered = document.get("token_endpoint_auth_methods_supported")
    methods = [stated, *(cast("list[object]", offered) if isinstance(offered, list) else ())]
    if "none" in methods or not any(methods):
        return "none"
    if "private_key_jwt" not in methods:
        return Refused("token_endpoint_auth_method: only none and private_key_jwt are supported")
    if not keys:
        return Refused("jwks: private_key_jwt needs jwks or jwks_uri")
    algorithm = document.get("token_endpoint_auth_signing_alg")
    problem = None if algorithm is None else read_algorithm(algorithm)
    if isinstance(problem, Refused):
        return Refused(f"token_endpoint_auth_signing_alg: {problem.reason}")
    return "private_key_jwt"


def _kept(document: Mapping[str, Any]) -> dict[str, Any]:
    """`digest`: SHA-256 over what the document says, however it is laid out, so that a grant can
    tell which one was consented to.
    """
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"))
    kept = {name: document[name] for name in _KEPT if name in document}
    return kept | {"digest": hashlib.sha256(plain.encode()).hexdigest()}
