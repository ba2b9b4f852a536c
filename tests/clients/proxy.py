"""A proxy that adds a bearer token to each request and passes every other byte on as it came.

For programs that cannot send an Authorization header, such as scenarios of the conformance suite.
Host and Origin reach the server untouched, so what it says about them is its own word.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Generator

_CONNECTION = re.compile(rb"\r\nconnection:[^\r\n]*", re.IGNORECASE)


@contextlib.contextmanager
def injecting_proxy(target_port: int, token: str) -> Generator[int]:
    """The port on which the proxy listens until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_accept, args=(listener, target_port, token), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=10)


def _accept(listener: socket.socket, target_port: int, token: str) -> None:
    with contextlib.suppress(OSError):  # the listener was shut down
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_serve, args=(client, target_port, token), daemon=True).start()


def _serve(client: socket.socket, target_port: int, token: str) -> None:
    """One request a connection: after it, both sides are told to close."""
    with (
        contextlib.suppress(OSError),
        client,
        socket.create_connection(("127.0.0.1", target_port)) as server,
    ):
        head, rest = _head(client)
        if not head:
            return
        added = b"\r\nConnection: close\r\nAuthorization: Bearer " + token.encode()
        server.sendall(_CONNECTION.sub(b"", head) + added + b"\r\n\r\n" + rest)
        back = threading.Thread(target=_pump, args=(server, client), daemon=True)
        back.start()
        _pump(client, server)
        back.join(timeout=30)


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    received = b""
    while b"\r\n\r\n" not in received:
        piece = client.recv(65536)
        if not piece:
            return b"", b""
        received += piece
    head, _, rest = received.partition(b"\r\n\r\n")
    return head, rest


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_RDWR)
