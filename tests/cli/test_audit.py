"""audit: what was done, by whom and when."""

from __future__ import annotations

import pytest

from tests.cli.program import Place, serving
from tests.oauth.person import PASSWORD

ALICE = "alice@example.com"


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A machine on which something happened: an account, a vault, two keys."""
    place = Place(tmp_path_factory.mktemp("home"), {"REMEMBERD_EMBEDDER": "off"})
    place.ok("setup", "--email", ALICE, "--password-stdin", stdin=f"{PASSWORD}\n")
    place.ok("vault", "create", "work")
    for name in ("one", "two"):
        place.ok("key", "create", "--vault", "work", "--name", name)
    return place


def test_what_was_done_is_listed_with_names_newest_first(used: Place) -> None:
    lines = [line.split("\t") for line in used.ok("audit", "list").out.splitlines()]
    assert [line[2:4] for line in lines] == [
        ["command line", "key.created"],
        ["command line", "key.created"],
        [ALICE, "account.created"],
    ]
    assert lines[0][5] == "scopes read, write, vault work"
    assert [int(line[0]) for line in lines] == [3, 2, 1]


def test_json_keeps_the_ids_and_says_what_they_stand_for(used: Place) -> None:
    found = used.json("audit", "list")
    newest, *_, oldest = found["entries"]
    assert found["names"][oldest["actor"]] == ALICE
    assert found["names"][newest["detail"]["vault"]] == "work"
    assert newest.keys() == {"seq", "at", "actor", "action", "subject", "detail"}


def test_older_ones_come_page_by_page(used: Place) -> None:
    seen: list[int] = []
    while True:
        more = ("--before", str(seen[-1])) if seen else ()
        entries = used.json("audit", "list", "--limit", "2", *more)["entries"]
        if not entries:
            break
        seen += [entry["seq"] for entry in entries]
    assert seen == [3, 2, 1]


def test_a_vault_has_a_chain_of_its_own(place: Place) -> None:
    place.ok("vault", "create", "work")
    assert place.json("audit", "list", "--vault", "work")["entries"] == []
    place.ok("add", "The boat is called Petrel.", "--vault", "work")
    place.ok("forget", "--all", "--vault", "work", "--yes")
    (entry,) = place.json("audit", "list", "--vault", "work")["entries"]
    assert entry["action"] == "vault.forgotten"
    assert "Petrel" not in str(entry)


def test_beside_a_server_it_is_the_same(used: Place) -> None:
    alone = used.json("audit", "list")
    with serving(used):
        assert used.json("audit", "list") == alone


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--limit", "0"), 2, "--limit"),
        (("--limit", "1001"), 2, "--limit"),
        (("--before", "0"), 2, "--before"),
        (("--vault", "none"), 3, "There is no vault named 'none'"),
    ],
)
def test_what_cannot_be_listed_is_said(
    used: Place, arguments: tuple[str, str], code: int, says: str
) -> None:
    done = used.run("audit", "list", *arguments)
    assert (done.code, done.out) == (code, "")
    assert says in done.err
