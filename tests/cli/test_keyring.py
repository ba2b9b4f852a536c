"""keys export and import: the way back after a loss, and what is refused on the way."""

import json
import shutil
import stat

import pytest

from tests.cli.program import Done, Place, Terminal

PASSPHRASE = "correct horse battery"


def export(place: Place, name: str = "keys.json") -> None:
    place.ok("keys", "export", name, "--passphrase-stdin", stdin=f"{PASSPHRASE}\n")


def import_keys(place: Place, *more: str) -> Done:
    return place.ok("keys", "import", "keys.json", "--passphrase-stdin", *more, stdin=PASSPHRASE)


def test_an_export_brings_a_backup_back_to_life(place: Place) -> None:
    place.ok("add", "We deploy on Tuesdays.")
    export(place)
    for lost in ("master.key", "keys.db", "keys.db-wal", "keys.db-shm"):
        (place.data / lost).unlink(missing_ok=True)
    assert place.run("search", "deploy").code != 0
    done = import_keys(place, "--json")
    assert done.json == {"added": 1, "already_here": 0, "destroyed": []}
    assert len(place.json("search", "deploy")["memories"]) == 1
    assert place.ok("doctor").out.count("in no export") == 0  # the one just taken in holds it
    again = import_keys(place)
    assert (again.out, again.err) == ("Took in no key\n", "Here already: 1 key.\n")


def test_an_import_where_its_vaults_are_not_is_refused_and_makes_nothing(place: Place) -> None:
    export(place)
    for data, code, said in (("nowhere", 3, "no control.db in"), ("other", 2, "None of this")):
        if data == "other":
            place.ok("vault", "list", "--data", data)
        done = place.run(
            "keys", "import", "keys.json", "--passphrase-stdin", "--data", data, stdin=PASSPHRASE
        )
        assert (done.code, said in done.err) == (code, True)
        assert str(place.home / data) in done.err
        assert "--data" in done.err
    assert not (place.home / "nowhere").exists()


@pytest.mark.slow
def test_a_vault_that_was_erased_after_the_backup_is_named_and_stays_closed(place: Place) -> None:
    place.ok("vault", "create", "diary")
    export(place)
    shutil.copytree(place.data, place.home / "backup", ignore=shutil.ignore_patterns("*.sock"))
    place.ok("vault", "erase", "diary", "--yes")
    shutil.copy(place.home / "backup" / "control.db", place.data)
    shutil.copytree(place.home / "backup" / "vaults", place.data / "vaults", dirs_exist_ok=True)
    assert "closed for good: diary." in import_keys(place).err
    assert "destroyed" in place.run("search", "anything", "--vault", "diary").err
    checks = {one["name"]: one for one in json.loads(place.run("doctor", "--json").out)["checks"]}
    assert "diary (wrong_key)" in checks["vaults"]["detail"]
    assert "`rememberd vault erase`" in checks["vaults"]["advice"]
    assert "backup." not in checks["vaults"]["advice"]
    place.ok("vault", "erase", "diary", "--yes")
    assert "diary" not in import_keys(place).err


def test_an_export_is_for_its_owner_alone_and_never_overwritten(place: Place) -> None:
    export(place)
    file = place.home / "keys.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_text(encoding="utf-8")
    assert json.loads(before)["kind"].startswith("rememberd key export")
    again = place.run("keys", "export", "keys.json", "--passphrase-stdin", stdin=PASSPHRASE)
    assert again.code == 2
    assert file.read_text(encoding="utf-8") == before


def test_a_refused_export_leaves_no_file(place: Place) -> None:
    assert place.run("keys", "export", "k", "--passphrase-stdin", stdin="short").code == 2
    assert place.run("keys", "export", "k").code == 2  # nobody can type a passphrase
    assert not (place.home / "k").exists()
    assert place.run("keys", "export", "no/such/folder", "--passphrase-stdin").code == 2


def test_a_wrong_passphrase_or_file_is_refused(place: Place) -> None:
    export(place)
    wrong = place.run("keys", "import", "keys.json", "--passphrase-stdin", stdin="wrong horse 123")
    assert wrong.code == 2
    assert "passphrase" in wrong.err
    (place.home / "other").write_text("{}")
    other = place.run("keys", "import", "other", "--passphrase-stdin", stdin=PASSPHRASE)
    assert other.code == 2
    assert place.run("keys", "import", "nothing", "--passphrase-stdin").code == 2


def test_a_passphrase_is_asked_for_twice_and_not_shown(place: Place) -> None:
    screen = Terminal(place, "keys", "export", "keys.json")
    screen.expect("Passphrase: ")
    screen.type(PASSPHRASE)
    screen.expect("Repeat for confirmation: ")
    screen.type(PASSPHRASE)
    assert screen.end() == 0
    assert PASSPHRASE not in screen.shown
    assert (place.home / "keys.json").exists()
