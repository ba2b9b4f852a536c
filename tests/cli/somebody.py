"""A web server of somebody else's: instead of rememberd, or in front of it as a proxy.

What it does to a request is data that a test sets: answers of its own, and words it replaces.
"""

from __future__ import annotations

import http.client
import http.server
import socket
import ssl
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.auth.origin import certificates

Answer = tuple[int, dict[str, str], bytes]
NOTHING: Answer = (404, {"Content-Type": "text/plain"}, b"nothing here")
_OF_A_HOP = {"connection", "transfer-encoding", "content-length"}


@dataclass
class Somebody:
    """`answers`: its own, by path, or by address for those it gets as a forward proxy."""

    port: int
    behind: int | None = None  #: the port to which it passes on what it does not answer
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    replaced: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])  #: in bodies
    headers: dict[str, str] = field(default_factory=dict[str, str])  #: added to what it passes on
    asked: list[str] = field(default_factory=list[str])  #: the paths

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def mend(self) -> None:
        """Be transparent from now on."""
        for bent in (self.answers, self.replaced, self.headers, self.asked):
            bent.clear()

    def answer(self, method: str, address: str, headers: dict[str, str], body: bytes) -> Answer:
        path = urlsplit(address).path
        self.asked.append(path)
        own = self.answers.get(address) or self.answers.get(path)
        if own is not None or self.behind is None:
            return own or NOTHING
        with closing(http.client.HTTPConnection("127.0.0.1", self.behind, timeout=30)) as there:
            there.request(method, path, body, headers)
            reply = there.getresponse()
            told = {name.lower(): value for name, value in reply.getheaders() if _is_kept(name)}
            sent = reply.read()
        for old, new in self.replaced.items():
            sent = sent.replace(old, new)
        return reply.status, told | self.headers, sent


def _is_kept(name: str) -> bool:
    return name.lower() not in _OF_A_HOP


class _Handler(http.server.BaseHTTPRequestHandler):
    somebody: Somebody
    certificate: Path | None

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        kept = {name: value for name, value in self.headers.items() if _is_kept(name)}
        status, headers, sent = self.somebody.answer(self.command, self.path, kept, body)
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(sent))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)

    do_POST = do_GET

    def do_CONNECT(self) -> None:
        """As a forward proxy: whatever host is meant, it is this one, with TLS."""
        self.send_response_only(200)
        self.end_headers()
        assert self.certificate
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        with context.wrap_socket(self.connection, server_side=True) as inner:
            type(self)(inner, self.client_address, self.server)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def somebody_else(
    answers: dict[str, Answer] | None = None, certificate: Path | None = None
) -> Generator[Somebody]:
    """Serve until the end of the block. `certificate`: key and chain, for what is https."""
    somebody = Somebody(0, answers=answers or {})
    handler = type("Handler", (_Handler,), {"somebody": somebody, "certificate": certificate})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        somebody.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield somebody
        server.shutdown()
        thread.join()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def certificate_files(folder: Path) -> tuple[Path, Path]:
    """A throw-away CA, and key and chain of other.example."""
    authority, chain = certificates()
    (folder / "ca.pem").write_bytes(authority)
    (folder / "chain.pem").write_bytes(chain)
    return folder / "ca.pem", folder / "chain.pem"
