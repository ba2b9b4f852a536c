"""add, search, status, forget: each works alone and beside a server, and says no clearly."""

import re

import pytest

from tests.cli.program import Place, Terminal

TUESDAYS = "We deploy on Tuesdays."


def add(place: Place, vault: str, text: str, *options: str) -> str:
    """Store a text; returns its id."""
    place.ok("add", text, "--vault", vault, *options)
    found = place.json("search", text, "--vault", vault, "--limit", "1")
    return found["memories"][0]["id"]


def test_what_was_added_is_found(shared_place: Place, vault: str) -> None:
    assert shared_place.ok("add", TUESDAYS, "--vault", vault).out == f"Stored in {vault}\n"
    line = shared_place.ok("search", "when do we deploy", "--vault", vault).out
    assert re.fullmatch(
        rf"[01]\.\d\d\t{re.escape(TUESDAYS)}\t\d{{4}}-\d\d-\d\d\traw\tmem_\w+\n", line
    )


def test_a_terminal_shows_where_a_memory_stands_below_it(place: Place) -> None:
    kept = add(place, "personal", TUESDAYS)
    screen = Terminal(place, "search", "deploy")
    screen.expect(TUESDAYS)
    screen.expect(f" · raw · {kept}")
    assert screen.end() == 0
    assert "\t" not in screen.shown


def test_text_comes_from_standard_input_with_its_details(shared_place: Place, vault: str) -> None:
    details = ["--tag", "work", "--tag", "rota", "--source-context", "chat 7"]
    when = ["--occurred-at", "2026-03-03"]
    done = shared_place.ok(
        "add", "-", "--vault", vault, "--json", *details, *when, stdin="Two\nlines 🙂\n"
    )
    assert done.json["status"] == "queued"
    assert done.json["vault"] == vault
    found = shared_place.json("search", "lines", "--vault", vault)["memories"]
    assert [memory["text"].rstrip() for memory in found] == ["Two\nlines 🙂"]
    assert found[0]["occurred_at"] == "2026-03-03T00:00:00Z"


def test_wrong_arguments_are_named_and_nothing_is_stored(shared_place: Place, vault: str) -> None:
    for arguments, named in (
        (["add", " ", "--vault", vault], "TEXT must"),
        (["add", TUESDAYS, "--vault", vault, "--occurred-at", "soon"], "--occurred-at must"),
        (["add", TUESDAYS, "--vault", vault, "--tag", "x" * 65], "--tag must"),
        (["search", "", "--vault", vault], "QUERY must"),
        (["search", "x", "--vault", vault, "--limit", "0"], "--limit must"),
        (["search", "x", "--vault", vault, "--limit", "0", "--tier", "4"], "; --tier must"),
        (["search", "x", "--vault", vault, "--tier", "1", "--importance", "5"], "--importance: "),
        (["forget", "x" * 200, "--vault", vault], "ID must"),
    ):
        done = shared_place.run(*arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert named in done.err
        assert done.err.startswith("Error: ")
        assert "Traceback" not in done.err
    assert shared_place.json("status", "--vault", vault)["totalMemories"] == 0


def test_an_unknown_vault_is_not_found(shared_place: Place) -> None:
    for verb in (["add", "x"], ["search", "x"], ["status"], ["forget", "x", "--yes"]):
        done = shared_place.run(*verb, "--vault", "nowhere")
        assert (done.code, done.out) == (3, ""), verb


def test_status_counts(shared_place: Place, vault: str) -> None:
    add(shared_place, vault, TUESDAYS)
    found = shared_place.json("status", "--vault", vault)
    assert (found["vault"], found["totalMemories"], found["totalTokens"]) == (vault, 1, 6)
    shown = shared_place.ok("status", "--vault", vault).out
    assert found["vaultRef"] in shown
    assert "1 (6 tokens)" in shown


def test_forget_shows_and_deletes_what_is_named(shared_place: Place, vault: str) -> None:
    going, staying = (add(shared_place, vault, text) for text in (TUESDAYS, "We rest on Sundays."))
    done = shared_place.ok("forget", going, "--vault", vault, "--yes")
    assert TUESDAYS in done.err
    found = shared_place.json("search", "we deploy rest", "--vault", vault)["memories"]
    assert [memory["id"] for memory in found] == [staying]


def test_one_unknown_id_and_nothing_is_deleted(shared_place: Place, vault: str) -> None:
    kept = add(shared_place, vault, TUESDAYS)
    done = shared_place.run("forget", kept, "mem_nothing", "--vault", vault, "--yes")
    assert done.code == 3
    assert shared_place.json("status", "--vault", vault)["totalMemories"] == 1


def test_nothing_is_forgotten_where_nobody_can_be_asked(shared_place: Place, vault: str) -> None:
    kept = add(shared_place, vault, TUESDAYS)
    for what in ([kept], ["--all"]):
        done = shared_place.run("forget", *what, "--vault", vault)
        assert done.code == 2
        assert "--yes" in done.err
    assert shared_place.run("forget", "--vault", vault).code == 2
    assert shared_place.run("forget", kept, "--all", "--vault", vault).code == 2
    assert shared_place.json("status", "--vault", vault)["totalMemories"] == 1


def test_forget_all_leaves_an_empty_vault_and_a_certificate(
    shared_place: Place, vault: str
) -> None:
    add(shared_place, vault, TUESDAYS)
    done = shared_place.json("forget", "--all", "--vault", vault, "--yes")
    assert (done["before"]["primary"], done["after"]["primary"]) == (1, 0)
    assert done["certificate_id"].startswith("crt_")
    assert shared_place.json("search", "deploy", "--vault", vault)["memories"] == []


@pytest.mark.slow
def test_a_person_is_asked_and_may_say_no(place: Place) -> None:
    kept = add(place, "personal", TUESDAYS)
    one = Terminal(place, "forget", kept)
    one.expect("Delete 1 memory from personal?")
    assert TUESDAYS in one.shown
    one.type("n")
    assert one.end() == 1
    everything = Terminal(place, "forget", "--all")
    everything.expect("Type personal to go on")
    everything.type("yes")
    assert everything.end() == 1
    assert place.json("status")["totalMemories"] == 1
    sure = Terminal(place, "forget", "--all")
    sure.expect("Type personal to go on")
    sure.type("personal")
    assert sure.end() == 0
    assert place.json("status")["totalMemories"] == 0


def test_the_only_vault_needs_no_name_and_several_are_listed(place: Place) -> None:
    assert place.json("status")["vault"] == "personal"  # made at the very first start
    place.ok("vault", "create", "work")
    done = place.run("status")
    assert done.code == 2
    assert "personal, work" in done.err
    assert place.with_environ(REMEMBERD_VAULT="work").json("status")["vault"] == "work"
    chosen = place.with_environ(REMEMBERD_VAULT="work").json("status", "--vault", "personal")
    assert chosen["vault"] == "personal"


def test_over_the_allowance_storing_ends_with_its_own_code(place: Place) -> None:
    frugal = place.with_environ(REMEMBERD_MONTHLY_TOKEN_ALLOWANCE="6")
    assert frugal.run("add", TUESDAYS).code == 0
    over = frugal.run("add", TUESDAYS)
    assert over.code == 7
    assert "allowance" in over.err
    assert frugal.run("search", "deploy").code == 0


def test_stored_text_is_never_read_as_markup(place: Place) -> None:
    text = "[bold]not bold[/bold] :smile: [link=https://x.example]y[/link]"
    place.ok("add", text)
    assert text in place.ok("search", "bold").out
    screen = Terminal(place, "search", "bold")
    assert screen.end() == 0
    assert text in screen.shown


@pytest.mark.slow
def test_json_is_one_document_in_utf8_whatever_the_locale(place: Place) -> None:
    place.ok("add", "Grüße aus Zürich 🙂")
    elsewhere = place.with_environ(
        LANG="C", LC_ALL="POSIX", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0"
    )
    found = elsewhere.run_anew("search", "Grüße", "--json").json["memories"]
    assert [memory["text"] for memory in found] == ["Grüße aus Zürich 🙂"]
    assert "Z?rich" in elsewhere.run_anew("search", "Grüße").out
