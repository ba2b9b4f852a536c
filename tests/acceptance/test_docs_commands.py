"""The commands in README, quickstart and how-tos do what the pages say, typed as they stand."""

import re
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import Place, Terminal, serving

ROOT = Path(__file__).parents[2]
PASSPHRASE = "correct horse battery"


def commands(page: str) -> Iterator[list[str]]:
    """Each `$ rememberd …` of a page's console blocks, without comments."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            command = line.removeprefix("$ ").removeprefix(".venv/bin/")
            if line.startswith("$ ") and command.startswith("rememberd "):
                yield shlex.split(command, comments=True)[1:]


def type_in(place: Place, arguments: list[str]) -> None:
    """Run a command at a terminal, answering what it asks."""
    screen = Terminal(place, *arguments)
    if arguments[0] == "keys":
        screen.expect("Passphrase: ")
        screen.type(PASSPHRASE)
        if arguments[1] == "export":
            screen.expect("Repeat for confirmation: ")
            screen.type(PASSPHRASE)
    assert screen.end() == 0, (arguments, screen.shown)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["README.md", "docs/quickstart.md", "docs/howto/back-up-and-restore.md"]
)
def test_the_commands_of_a_page_work(page: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = Place(tmp_path, {"REMEMBERD_PORT": str(port)})  # the usual one may be in use here
    found = list(commands(page))
    assert found
    for arguments in found:
        arguments = [str(place.data) if word == "DIR" else word for word in arguments]
        if arguments[0] == "serve":
            with serving(place, *arguments[1:]):
                pass
        else:
            type_in(place, arguments)
