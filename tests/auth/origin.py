"""A web server of somebody else's: real TLS on loopback, with a certificate of a throw-away CA.

It answers byte for byte what a test gives it, and remembers what it was sent.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from rememberd.auth.fetch import Network
from rememberd.auth.public_addresses import is_public

HOST = "client.example"
Handler = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(
    body: bytes | dict[str, Any],
    *headers: str,
    status: str = "200 OK",
    content_type: str | None = "application/json",
) -> bytes:
    """An HTTP answer of one document."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(raw)}", *headers]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    return "\r\n".join([*lines, "", ""]).encode() + raw


async def _nowhere(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def _or_loopback(address: str) -> bool:
    return address == "127.0.0.1" or is_public(address)


@dataclass
class Origin:
    """`answers`: what to send by path; anything else is 404."""

    port: int
    context: ssl.SSLContext  #: trusts the CA
    answers: dict[str, bytes | Handler] = field(default_factory=dict[str, bytes | Handler])
    requests: list[str] = field(default_factory=list[str])
    names: list[str | None] = field(default_factory=list[str | None])  #: asked for in TLS

    def url(self, path: str, host: str = HOST) -> str:
        return f"https://{host}:{self.port}{path}"

    def network(self, **changes: Any) -> Network:
        """The world, in which every host is this one and 127.0.0.1 counts as public."""
        usual: dict[str, Any] = {
            "resolve": _nowhere,
            "is_public": _or_loopback,
            "make_context": lambda: self.context,
            "ports": frozenset({443, self.port}),
        }
        return Network(**usual | changes)

    @property
    def paths(self) -> list[str]:
        return [request.split(" ")[1] for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.requests.append(request)
            found = self.answers.get(request.split(" ")[1])
            if found is None:
                found = answer({}, status="404 Not Found")
            if isinstance(found, bytes):
                writer.write(found)
                await writer.drain()
            else:
                await found(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # whoever asked has gone, which some tests want
        finally:
            writer.transport.abort() if writer.is_closing() else writer.close()


@asynccontextmanager
async def origin(folder: Path) -> AsyncGenerator[Origin]:
    """Serve until the end of the block; `folder` takes the certificate."""
    authority, chain = certificates()
    (folder / "chain.pem").write_bytes(chain)
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(folder / "chain.pem")
    ours = ssl.create_default_context(cadata=authority.decode())
    made = Origin(0, ours)
    theirs.sni_callback = lambda _socket, name, _context: made.names.append(name)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=theirs)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


@cache
def certificates() -> tuple[bytes, bytes]:
    """The CA's certificate, and key and certificate for HOST; PEM."""
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "throw-away CA")])
    basic = x509.BasicConstraints(ca=True, path_length=None)
    ca = _builder(ca_name, ca_name, ca_key.public_key()).add_extension(basic, critical=True)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    ca = ca.add_extension(usage, critical=True)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    names = x509.SubjectAlternativeName([x509.DNSName(HOST), x509.DNSName("other.example")])
    leaf = _builder(name, ca_name, key.public_key()).add_extension(names, critical=False)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = serialization.Encoding.PEM
    signed = leaf.sign(ca_key, hashes.SHA256()).public_bytes(pem)
    return ca.sign(ca_key, hashes.SHA256()).public_bytes(pem), private + signed


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)  # noqa: TID251 - TLS looks at the real clock
    day = datetime.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
    )
