"""The spelling of our secrets: letters and digits only, and a checksum at the end. Pure."""

from __future__ import annotations

import zlib

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BODY, CHECK = 43, 6  # digits of 256 bits, and of CRC-32


def encode(number: int, width: int) -> str:
    """`number` in base 62, exactly `width` digits."""
    digits = ""
    for _ in range(width):
        number, index = divmod(number, 62)
        digits = _ALPHABET[index] + digits
    return digits


def checksum(text: str) -> str:
    """CRC-32: tells a mistyped or invented secret from a real one without a look-up."""
    return encode(zlib.crc32(text.encode()), CHECK)
