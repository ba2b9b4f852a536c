"""Sockets to listen on: both loopbacks for this machine, one address for others, one file for us.

They listen from the moment they are made, so that a port is either ours or an error at once.
"""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from rememberd.errors import AddressUnavailable, InvalidInput

BACKLOG = 1024
_LOCALHOST = ("localhost", "127.0.0.1")
_TRIES = 10  # to find one port that is free on both loopbacks
_LONGEST = 100  # bytes of a socket's path: sun_path holds 108 on Linux, 104 on macOS


def tcp(host: str, port: int) -> list[socket.socket]:
    """Listen on `host`; on both loopbacks when it is the default or localhost. Port 0: any free.

    Raises AddressUnavailable, or InvalidInput for a host that is not this machine's.
    """
    if host not in _LOCALHOST:
        return [_listen(host, port)]
    for _ in range(_TRIES):
        four = _listen("127.0.0.1", port)
        try:
            return [four, *_if_there_is_ipv6(four.getsockname()[1])]
        except AddressUnavailable:
            four.close()
            if port:
                raise
    raise AddressUnavailable("No port is free on both 127.0.0.1 and ::1.")


def _if_there_is_ipv6(port: int) -> list[socket.socket]:
    try:
        return [_listen("::1", port)]
    except InvalidInput:
        return []


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _explained(error, host, port) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and host != "::":
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _explained(error, host, port) from None
    return listener


def _explained(error: OSError, host: str, port: int) -> AddressUnavailable | InvalidInput:
    if error.errno == errno.EADDRINUSE:
        return AddressUnavailable(
            f"Port {port} on {host} is in use. Choose another with --port, or stop what is there."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return AddressUnavailable(f"This user may not listen on port {port}. Try --port 8420.")
    reason = error.strerror or str(error)
    return InvalidInput(f"Cannot listen on host {host}: {reason}.", field="host")


def unix(path: Path) -> socket.socket:
    """Listen on a file that this user alone can open. The caller owns the data directory.

    A file that is there was left by a process that is gone: else it would hold the lock.
    """
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with reachable(path) as short:
            listener.bind(short)
        path.chmod(0o600)  # before anybody can connect
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressUnavailable(f"Cannot listen on {path}: {error.strerror}.") from error
    return listener


@contextmanager
def reachable(path: Path) -> Generator[str]:
    """The path of a socket, no longer than the system takes: through a link where it must be."""
    if len(os.fsencode(path)) <= _LONGEST:
        yield str(path)
        return
    # Where temporary files usually go may be as long a path itself.
    places = [place for place in ("/tmp", tempfile.gettempdir()) if os.access(place, os.W_OK)]  # noqa: S108 - a private folder is made in it
    folder = Path(tempfile.mkdtemp(prefix="rememberd-", dir=min(places, key=len, default=None)))
    link = folder / "d"
    try:
        link.symlink_to(path.parent, target_is_directory=True)
        yield str(link / path.name)
    finally:
        with suppress(OSError):
            link.unlink()
            folder.rmdir()
