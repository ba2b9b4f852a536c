"""Whether a client's key signed an assertion (RFC 7515). Loaded at first use: joserfc is large.

Only RS256 and ES256, and only with a public key made for the one named: what is published is never
taken for a shared secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from rememberd.auth.assertions import Assertion

# Lengths in base64url: 2,048 to 4,096 bits (less is weak, more is slow), and an exponent to match.
_MODULUS, _EXPONENT = range(342, 684), range(1, 9)


def candidates(assertion: Assertion, keys: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that may have signed it: for its algorithm, and with its `kid` if it names one."""
    return [
        key
        for key in keys
        if assertion.key_id in (None, key.get("kid"))
        and key.get("alg", assertion.algorithm) == assertion.algorithm
        and key.get("use", "sig") == "sig"
    ]


def signed_by_one_of(assertion: Assertion, keys: Iterable[Mapping[str, Any]]) -> bool:
    """False also for keys that are none."""
    return any(_signed_by(assertion, key) for key in keys)


def _signed_by(assertion: Assertion, key: Mapping[str, Any]) -> bool:
    try:
        public = _rsa(key) if assertion.algorithm == "RS256" else _p256(key)
        if public is None:
            return False
        registry = jws.JWSRegistry(algorithms=[assertion.algorithm], strict_check_header=False)
        jws.deserialize_compact(assertion.text, public, registry=registry)
    except (JoseError, ValueError):
        return False
    return True


def _rsa(key: Mapping[str, Any]) -> RSAKey | None:
    modulus, exponent = key.get("n"), key.get("e")
    if key.get("kty") != "RSA" or not isinstance(modulus, str) or not isinstance(exponent, str):
        return None
    if len(modulus) not in _MODULUS or len(exponent) not in _EXPONENT:
        return None
    return RSAKey.import_key({"kty": "RSA", "n": modulus, "e": exponent})


def _p256(key: Mapping[str, Any]) -> ECKey | None:
    x, y = key.get("x"), key.get("y")
    if key.get("kty") != "EC" or not isinstance(x, str) or not isinstance(y, str):
        return None
    if key.get("crv") != "P-256":
        return None
    return ECKey.import_key({"kty": "EC", "crv": "P-256", "x": x, "y": y})
