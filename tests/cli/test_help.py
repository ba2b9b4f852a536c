"""What a person meets first: help, version, completion, and how a typing error is told."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from rememberd import __version__
from rememberd.cli import app, exits
from rememberd.errors import DataDirectoryBusy, RememberdError, ScopeMissing
from tests.cli.program import Place


def verbs(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", {})
    if not children:
        yield name, command
    for child in children.values():
        yield from verbs(f"{name} {child.name}", child)


ALL = dict(verbs("rememberd", typer.main.get_command(app)))


@pytest.mark.parametrize("name", ALL)
def test_every_verb_shows_an_example_of_itself(name: str) -> None:
    assert f"\n\nExample: {name}" in ALL[name].help


@pytest.mark.parametrize("name", sorted(set(ALL) - {"rememberd try"}))
def test_every_verb_takes_the_data_directory(name: str) -> None:
    assert "data" in {parameter.name for parameter in ALL[name].params}


def test_the_version_and_a_typing_error(place: Place) -> None:
    assert place.run_anew("--version").out == f"rememberd {__version__}\n"
    wrong = place.run("serch", "x")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Did you mean 'search'" in wrong.err


def test_a_shell_completes_verbs(place: Place) -> None:
    words = {
        "_REMEMBERD_COMPLETE": "complete_bash",
        "COMP_WORDS": "rememberd v",
        "COMP_CWORD": "1",
    }
    assert place.with_environ(**words).run_anew().out == "vault\n"


def test_the_code_of_an_error_is_the_same_here_and_from_the_owner() -> None:
    for error in (DataDirectoryBusy(), ScopeMissing("memories:write")):
        told = exits.Refusal(error.code, error.message)
        assert exits.exit_code(error) == exits.exit_code(told) != 1
    assert exits.exit_code(exits.Refusal("never heard of", "?")) == 1
    assert exits.exit_code(RememberdError("?")) == 1
