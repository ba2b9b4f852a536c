"""Reads what is really on the disk: every page of a vault's files, decrypted, in use or not.

SQLite shows only pages that are in use; this shows free pages, slack and every frame of the log. It
works on copies: a file that SQLite has open must not be opened by anybody else in its process.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from rememberd.store.sqlite import PAGE_SIZE

_RESERVED = 32  # at a page's end: 16 bytes of nonce, 16 of tag
_LOG_HEADER, _FRAME_HEADER = 32, 24
_CLEAR = 24  # of the first page: salt, and the part of the header that stays readable


def on_disk(data_dir: Path, keys: Iterable[bytes], scratch: Path) -> bytes:
    """Everything below a data directory, vaults decrypted with each of `keys` (32 bytes each)."""
    subprocess.run(["cp", "-r", str(data_dir), str(scratch)], check=True)
    found: list[bytes] = []
    known = list(keys)
    for file in sorted(path for path in scratch.rglob("*") if path.is_file()):
        data = file.read_bytes()
        found.append(data)
        if file.parent.name == "vaults":
            found.extend(page for key in known for page in _pages(file.name, data, key))
    subprocess.run(["rm", "-r", str(scratch)], check=True)
    return b"\n".join(found)


def _pages(name: str, data: bytes, key: bytes) -> Iterator[bytes]:
    if name.endswith("-wal"):
        for at in range(_LOG_HEADER, len(data), _FRAME_HEADER + PAGE_SIZE):
            [number] = struct.unpack_from(">I", data, at)
            yield _decrypted(data[at + _FRAME_HEADER :][:PAGE_SIZE], number, key)
    elif not name.endswith("-shm"):
        for at in range(0, len(data), PAGE_SIZE):
            yield _decrypted(data[at : at + PAGE_SIZE], at // PAGE_SIZE + 1, key)


def _decrypted(page: bytes, number: int, key: bytes) -> bytes:
    """As SQLite3 Multiple Ciphers encrypts with ChaCha20: a key for each page, from its nonce."""
    body, nonce = page[:-_RESERVED], page[-_RESERVED:][:16]
    if len(nonce) < 16:
        return b""
    counter = struct.unpack_from("<I", nonce, 12)[0] ^ number
    of_page = _cipher(key, nonce, counter, bytes(64))[32:]
    return _cipher(of_page, nonce, counter + 1, body[_CLEAR if number == 1 else 0 :])


def _cipher(key: bytes, nonce: bytes, counter: int, data: bytes) -> bytes:
    start = struct.pack("<I", counter & 0xFFFFFFFF) + nonce[:12]
    return Cipher(ChaCha20(key, start), None).encryptor().update(data)
