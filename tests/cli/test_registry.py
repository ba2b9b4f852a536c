"""project, vault and key: each works alone and beside a server, and says no clearly."""

from tests.cli.program import Place, Terminal

SETUP = ("setup", "--email", "bob@example.com", "--name", "Bob", "--password-stdin")


def test_a_project_is_made_and_listed(shared_place: Place) -> None:
    assert shared_place.json("project", "create", "atlas")["name"] == "atlas"
    assert shared_place.run("project", "create", "atlas").code == 8
    names = [row["name"] for row in shared_place.json("project", "list")["projects"]]
    assert names.count("atlas") == 1
    assert "atlas" in shared_place.ok("project", "list").out


def test_a_vault_is_made_in_a_project_and_listed(shared_place: Place) -> None:
    shared_place.ok("project", "create", "borealis")
    made = shared_place.json("vault", "create", "Übersee 2", "--project", "borealis")
    assert (made["name"], made["project"], made["status"]) == ("Übersee 2", "borealis", "ready")
    assert shared_place.json("status", "--vault", "Übersee 2")["vaultRef"] == made["ref"]
    assert made["ref"] in shared_place.ok("vault", "list").out
    assert made in shared_place.json("vault", "list")["vaults"]


def test_a_vault_needs_a_free_and_plain_name_and_a_real_project(shared_place: Place) -> None:
    assert shared_place.run("vault", "create", "personal").code == 8
    assert shared_place.run("vault", "create", "a/b").code == 2
    assert shared_place.run("vault", "create", "c", "--project", "nowhere").code == 3
    assert "c" not in [row["name"] for row in shared_place.json("vault", "list")["vaults"]]


def test_an_erased_vault_is_gone_with_its_keys(shared_place: Place, vault: str) -> None:
    shared_place.ok("add", "We deploy on Tuesdays.", "--vault", vault)
    shared_place.ok("key", "create", "--vault", vault)
    proof = shared_place.json("vault", "erase", vault, "--yes")
    assert (proof["memories_before"], proof["memories_after"]) == (1, 0)
    assert shared_place.run("status", "--vault", vault).code == 3
    assert shared_place.run("vault", "erase", vault, "--yes").code == 3
    left = [row for row in shared_place.json("key", "list")["keys"] if row["vault"] == vault]
    assert [row for row in left if not row["revoked_at"]] == []


def test_a_vault_is_erased_only_when_its_name_is_typed(place: Place) -> None:
    place.ok("vault", "create", "work")
    assert place.run("vault", "erase", "work").code == 2  # nobody can be asked
    wrong = Terminal(place, "vault", "erase", "work")
    wrong.expect("Type work to go on")
    wrong.type("y")
    assert wrong.end() == 1
    assert place.run("status", "--vault", "work").code == 0
    right = Terminal(place, "vault", "erase", "work")
    right.expect("Type work to go on")
    right.type("work")
    assert right.end() == 0
    assert "crt_" in right.shown
    assert place.run("status", "--vault", "work").code == 3


def test_a_key_alone_is_the_result(shared_place: Place, vault: str) -> None:
    done = shared_place.ok("key", "create", "--vault", vault)
    assert done.out.startswith("mk_")
    assert len(done.out.split()) == 1
    assert "claude mcp add --transport http rememberd http://localhost:" in done.err


def test_a_key_reads_and_writes_unless_told_otherwise(shared_place: Place, vault: str) -> None:
    usual = shared_place.json("key", "create", "--vault", vault, "--name", "laptop")
    assert usual["scopes"] == ["memories:read", "memories:write"]
    assert (usual["name"], usual["vault"]) == ("laptop", vault)
    reader = shared_place.json("key", "create", "--vault", vault, "--read-only")
    assert reader["key"].startswith("mk_ro_")
    assert reader["scopes"] == ["memories:read"]
    wide = shared_place.json(
        "key", "create", "--vault", vault, "--scope", "read", "--scope", "delete"
    )
    assert wide["scopes"] == ["memories:read", "memories:delete"]
    listed = {row["id"]: row for row in shared_place.json("key", "list")["keys"]}
    assert {usual["id"], reader["id"], wide["id"]} <= set(listed)
    assert usual["key"] not in str(listed)


def test_a_key_needs_a_real_vault_and_real_scopes(shared_place: Place, vault: str) -> None:
    assert shared_place.run("key", "create", "--vault", "nowhere").code == 3
    done = shared_place.run("key", "create", "--vault", vault, "--scope", "everything")
    assert done.code == 2
    assert "memories:read" in done.err
    narrow = ["key", "create", "--vault", vault, "--read-only", "--scope", "write"]
    assert shared_place.run(*narrow).code == 2


def test_a_revoked_key_is_shown_as_such(shared_place: Place, vault: str) -> None:
    made = shared_place.json("key", "create", "--vault", vault)
    gone = shared_place.json("key", "revoke", made["id"])
    assert gone["revoked_at"]
    assert shared_place.run("key", "revoke", "key_nothing").code == 3
    line = next(row for row in shared_place.ok("key", "list").out.splitlines() if made["id"] in row)
    assert line.endswith("revoked")


# --- members of projects -----------------------------------------------------------------------


def test_an_account_is_let_into_a_project_given_another_role_and_taken_out(place: Place) -> None:
    place.ok("project", "create", "sea charts")
    place.ok(*SETUP, stdin="a rather long password\n")
    assert place.json("project", "members", "sea charts") == {"members": []}
    added = place.json("project", "add", "sea charts", " Bob@Example.com")
    assert (added["email"], added["role"]) == ("bob@example.com", "reader")
    place.ok("project", "add", "sea charts", "bob@example.com", "--role", "editor")
    shown = place.ok("project", "members", "sea charts").out
    assert shown == "bob@example.com\tBob\teditor\n"
    gone = place.json("project", "remove", "sea charts", "bob@example.com")
    assert gone == added | {"role": "editor"}
    assert place.json("project", "members", "sea charts") == {"members": []}
    assert place.run("audit", "verify").code == 0


def test_members_need_a_real_project_a_real_account_and_a_real_role(place: Place) -> None:
    place.ok("project", "create", "atlas")
    place.ok(*SETUP, stdin="a rather long password\n")
    assert place.run("project", "members", "nowhere").code == 3
    assert place.run("project", "add", "nowhere", "bob@example.com").code == 3
    done = place.run("project", "add", "atlas", "bbo@example.com")
    assert done.code == 3
    assert "account list" in done.err
    assert place.run("project", "remove", "atlas", "bob@example.com").code == 3
    assert place.run("project", "add", "atlas", "bob@example.com", "--role", "king").code == 2
    assert place.json("project", "members", "atlas") == {"members": []}
