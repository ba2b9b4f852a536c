"""Keys of clients, and assertions signed with them or forged. The keys are worth nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

from rememberd.auth.assertions import TYPE
from tests.store.world import StillClock

ISSUER = "https://memory.example"
Key = RSAKey | ECKey


@cache
def rsa(name: str = "first") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": name})


@cache
def ec(name: str = "first", curve: str = "P-256") -> ECKey:
    return ECKey.generate_key(curve, {"kid": name})


def published(*keys: Key, **members: Any) -> dict[str, Any]:
    return {"keys": [key.as_dict(private=False) | members for key in keys]}


def claims(client_id: str, clock: StillClock, **changes: Any) -> dict[str, Any]:
    """Good ones, unless changed; a change to None leaves the claim out."""
    now = int(clock.now().timestamp())
    good: dict[str, Any] = {
        "iss": client_id,
        "sub": client_id,
        "aud": ISSUER,
        "iat": now,
        "exp": now + 300,
        "jti": clock.new_id("jti"),
    }
    return {name: value for name, value in (good | changes).items() if value is not None}


def signed(key: Key, body: dict[str, Any], **header: Any) -> str:
    algorithm = "RS256" if isinstance(key, RSAKey) else "ES256"
    named = {"alg": algorithm, "kid": key.kid} | header
    protected = {name: value for name, value in named.items() if value is not None}
    registry = jws.JWSRegistry(algorithms=[protected["alg"]], strict_check_header=False)
    return jws.serialize_compact(protected, json.dumps(body), key, registry=registry)


def raw(header: dict[str, Any], body: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(body).encode(), signature)
    return ".".join(map(encoded, parts))


def weakly_signed(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A good signature with a key of 1,024 bits, and that key."""
    key = generate_private_key(65537, 1_024)  # noqa: S505 - that is the point
    numbers = key.public_key().public_numbers()
    text = raw({"alg": "RS256", "kid": "weak"}, body).rpartition(".")[0]
    signature = key.sign(text.encode(), PKCS1v15(), SHA256())
    public = {"kty": "RSA", "kid": "weak", "n": number(numbers.n, 128), "e": number(numbers.e, 3)}
    return f"{text}.{encoded(signature)}", public


def number(value: int, size: int) -> str:
    return encoded(value.to_bytes(size, "big"))


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def forged_with_public_key(key: RSAKey, body: dict[str, Any]) -> str:
    """HS256 with the RSA public key as the shared secret: the classic confusion of algorithms."""
    text = raw({"alg": "HS256", "kid": key.kid}, body).rpartition(".")[0]
    secret = key.as_pem(private=False)
    tag = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{encoded(tag)}"


def form(assertion: str, **more: str) -> dict[str, str]:
    return {"client_assertion_type": TYPE, "client_assertion": assertion, **more}
