"""A program in JavaScript that asks the test, one line at a time, for what only a person can do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from tests.clients.node import Node, environment

PROGRAMS = Path(__file__).parent / "programs"
Question = dict[str, Any]


def converse(
    node: Node,
    program: str,
    *arguments: str,
    answer: Callable[[Question], Any],
    patience: float = 90,
) -> dict[str, Any]:
    """What the program found in the end. Its questions are answered one by one."""
    with _started(node, program, arguments, patience) as process:
        assert process.stdin
        assert process.stdout
        for line in process.stdout:
            said = json.loads(line)
            if "found" in said:
                return said["found"]
            process.stdin.write(json.dumps(answer(said)) + "\n")
            process.stdin.flush()
        assert process.stderr
        raise AssertionError(f"{program} gave up: {process.stderr.read()}")


@contextmanager
def _started(
    node: Node, program: str, arguments: tuple[str, ...], patience: float
) -> Generator[subprocess.Popen[str]]:
    command = [str(node.binary), str(_placed(node) / program), *arguments]
    process = subprocess.Popen(
        command,
        env=environment(node.binary),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch = Timer(patience, process.kill)
    watch.start()
    with process:
        try:
            yield process
        finally:
            watch.cancel()
            process.kill()


def _placed(node: Node) -> Path:
    """Beside node_modules, where a program's imports are looked for; whole or not at all, since
    test processes run side by side.
    """
    folder = node.folder / "oauth"
    folder.mkdir(exist_ok=True)
    for program in PROGRAMS.glob("*.mjs"):
        draft = folder / f"{program.name}.{os.getpid()}"
        shutil.copyfile(program, draft)
        draft.replace(folder / program.name)
    return folder
