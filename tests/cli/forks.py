"""Runs the program often without its imports: a process that has made them forks for each run.

What runs is the real `main` in a process of its own, with its own arguments, environment, folder
and files. Starting the real program takes ten times as long: the tests of `serve`, `stdio` and of
terminals do that.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn

import httpx2

from rememberd.cli import hosting, main

IMPORTED_AHEAD = (hosting, httpx2)  # a run imports them when it needs them
_LONGEST_REQUEST = 1 << 20


class Forks:
    """The process that forks, as seen from the tests; it ends with them."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "utf8", __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={"PATH": os.environ["PATH"]},
            )

    def run(
        self,
        arguments: Sequence[str],
        *,
        stdin: str,
        environ: Mapping[str, str],
        folder: Path,
        timeout: float,
    ) -> tuple[int, str, str]:
        """Exit code, standard output and standard error. Raises TimeoutError."""
        request = {"arguments": arguments, "environ": environ, "folder": str(folder)}
        ours, theirs = socket.socketpair()
        with ours, theirs, scratch(stdin) as given, scratch() as out, scratch() as err:
            files = [given.fileno(), out.fileno(), err.fileno(), theirs.fileno()]
            with self._asking:
                socket.send_fds(self._control, [json.dumps(request).encode()], files)
                self._control.recv(1)  # taken: the next request does not run into this one
            theirs.close()
            ours.settimeout(timeout)
            code = int(ours.recv(16))
            return code, read(out), read(err)


_making = threading.Lock()


def forks() -> Forks:
    """One for all tests of a process, whichever of their threads comes first."""
    with _making:
        return _forks()


@cache
def _forks() -> Forks:
    return Forks()


def scratch(text: str = "") -> IO[bytes]:
    file = TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(text.encode())
    file.seek(0)
    return file


def read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


# --- in the process that forks -----------------------------------------------------------------


def fork_forever(control: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who report
    gc.collect()
    gc.freeze()  # or each run copies all of this memory when it ends, which takes 0.4 s
    while True:
        message, files, _, _ = socket.recv_fds(control, _LONGEST_REQUEST, 4)
        if not message:
            return
        control.send(b".")
        if os.fork() == 0:
            control.close()
            report(json.loads(message), files)
            os._exit(0)
        for file in files:
            os.close(file)


def report(request: dict[str, Any], files: list[int]) -> None:
    """Run the program in a child and tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    answer = socket.socket(fileno=files.pop())
    child = os.fork()
    if child == 0:
        answer.close()
        run(request, files)
    _, status = os.waitpid(child, 0)
    answer.send(str(os.waitstatus_to_exitcode(status)).encode())


def run(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Become the program."""
    for place, file in enumerate(files):
        os.dup2(file, place)
    os.chdir(request["folder"])
    os.environ.update(request["environ"])
    sys.argv = ["rememberd", *request["arguments"]]
    main()
    sys.exit()


if __name__ == "__main__":
    fork_forever(socket.socket(fileno=int(sys.argv[1])))
