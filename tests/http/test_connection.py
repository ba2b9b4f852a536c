"""Requests that never become one: too much head, or not the whole in time."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager

import pytest

from rememberd.http import connection
from rememberd.http.connection import MAX_HEAD_BYTES
from tests.http.serving import Served

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def line_to(served: Served) -> Generator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", served.port), timeout=30)) as line:
        yield line


def everything(line: socket.socket) -> bytes:
    """Up to the end of the stream. A reset is an end too."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := line.recv(65_536):
            said += piece
    return said


def one_answer(line: socket.socket) -> bytes:
    """Of /health, which is never longer than what comes at once."""
    line.sendall(HEAD + b"\r\n")
    return line.recv(65_536)


@pytest.mark.parametrize(
    "more",
    [b"x-filler: " + b"x" * 10_000_000, b"x-filler: x\r\n" * 1_000_000],
    ids=["one endless header", "headers without end"],
)
def test_a_head_without_end_is_refused_and_not_kept(served: Served, more: bytes) -> None:
    with line_to(served) as line:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            line.sendall(HEAD + more)  # it does not listen to the end
        said = everything(line)
    if said:  # what was sent in vain can take the answer along
        assert said.startswith(b"HTTP/1.1 431 ")
        assert json.loads(said.partition(b"\r\n\r\n")[2])["error"] == "head_too_large"


def test_a_head_that_is_slightly_too_large_is_told_why(served: Served) -> None:
    with line_to(served) as line:
        line.sendall(HEAD + b"x-filler: ")
        for _ in range(2):
            line.sendall(b"x" * (MAX_HEAD_BYTES // 2))
        said = everything(line)
    assert said.startswith(b"HTTP/1.1 431 ")
    assert json.loads(said.partition(b"\r\n\r\n")[2])["error"] == "head_too_large"


def test_a_head_of_many_pieces_within_the_bound_is_taken(served: Served) -> None:
    with line_to(served) as line:
        for at in range(len(HEAD)):
            line.sendall(HEAD[at : at + 1])
        line.sendall(b"x-filler: " + b"x" * 30_000 + b"\r\n\r\n")
        assert line.recv(65_536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "begun",
    [b"", b"POST", HEAD, b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"],
    ids=["nothing", "a method", "half a head", "half a body"],
)
def test_a_request_that_is_not_finished_holds_no_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.2)
    with line_to(served) as patient, line_to(served) as line:
        assert one_answer(patient).startswith(b"HTTP/1.1 200 ")
        line.sendall(begun)
        everything(line)  # ends, or the test runs into its time limit
        assert one_answer(patient).startswith(b"HTTP/1.1 200 ")  # idle is not unfinished
