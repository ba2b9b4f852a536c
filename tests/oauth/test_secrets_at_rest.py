"""Marked secrets go through everything that takes one; then files and logs are searched for them.

What is found in clear anywhere but in its owner's hands is a leak, whoever wrote it there.
"""

from __future__ import annotations

import base64
import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rememberd import log
from rememberd.engine import vaults
from tests.http.serving import Headers
from tests.oauth.person import Person
from tests.oauth.program import (
    ALL,
    JSON,
    Program,
    Tokens,
    ask,
    bearer,
    call,
    found,
    query_of,
    register,
    store,
)
from tests.oauth.world import World, running
from tests.store.pages import on_disk

MEMORY = "canary-memory: the release phrase is ORCHID-7419"
QUERY = "canary-query release phrase"
WRONG = "canary-wrong-password"


@dataclass
class Canaries:
    """What must not be found: by name, so that a failure says which."""

    held: dict[str, str] = field(default_factory=dict[str, str])

    def mark(self, name: str, secret: str) -> str:
        assert len(secret) > 8, f"{name} is too short to be looked for"
        self.held[name] = secret
        return secret

    def found_in(self, text: bytes, but: tuple[str, ...] = ()) -> list[str]:
        return [
            name
            for name, secret in self.held.items()
            if name not in but and secret.encode() in text
        ]


def live(world: World, canaries: Canaries) -> None:
    """A day on which everything happens once."""
    mark = canaries.mark
    setup = world.do(world.app.auth.accounts.setup_link())
    assert setup
    mark("setup link", setup)
    alice = Person(world, "alice@example.com", mark("password", "canary-password-one"))
    page = alice.open(f"/setup?token={setup}")
    mark("form token", page.form(having="form_token").named("form_token")[0].value)
    page = alice.submit(
        page,
        page.form(having="password"),
        *(("email", alice.email), ("password", alice.password)),
    )
    codes = [word for word in page.text.split() if word.count("-") == 3 and len(word) == 19]
    for number, code in enumerate(codes):
        mark(f"recovery code {number}", code)
    (cookie,) = alice.cookies.values()
    mark("session", cookie)
    _recover(world, alice, mark("new password", "canary-password-two"), codes[0])
    mark("wrong password", WRONG)
    Person(world, alice.email, WRONG).sign_in()
    link = alice.invite("editor")
    mark("invitation", link.partition("token=")[2])
    bob = Person(world, "bob@example.com", mark("password of bob", "canary-password-bob"))
    bob.join(link)
    _connect(world, alice, canaries)


def _recover(world: World, alice: Person, password: str, code: str) -> None:
    away = Person(world, alice.email)
    page = away.open("/sign-in/recovery")
    typed = (("email", alice.email), ("code", code), ("password", password))
    away.submit(page, page.form(having="code"), *typed)
    alice.password = password
    alice.sign_in()


def _connect(world: World, alice: Person, canaries: Canaries) -> None:
    mark = canaries.mark
    made = register(world, token_endpoint_auth_method="client_secret_post").json
    secret = mark("client secret", made["client_secret"])
    app = Program(world, made["client_id"], extra={"client_secret": secret})
    request = app.link(" ".join(ALL))
    mark("verifier", request.verifier)
    location = alice.consent(request.url, scopes=ALL)
    code = mark("code", query_of(location)["code"][0])
    waiting = app.link()
    mark("unused code", query_of(alice.consent(waiting.url))["code"][0])
    tokens = Tokens.of(app.redeem(code, request.verifier))
    for number in range(2):
        mark(f"access token {number}", tokens.access)
        mark(f"refresh token {number}", tokens.refresh)
        store(world, tokens.access, mark("memory", MEMORY))
        assert MEMORY in found(world, tokens.access, mark("query", QUERY))
        tokens = Tokens.of(app.refresh(tokens.refresh))
    app.refresh(canaries.held["refresh token 0"])  # which ends the family
    vault = world.do(vaults.create_vault(world.app.engine, "keys")).vault.id
    for kind in (True, False):
        key = world.do(world.app.keys.create(vault, read_only=kind)).secret
        mark(f"key {kind}", key)
        found(world, key, QUERY)
    call(world, canaries.held["key False"], "store_memory", content=MEMORY, wrong=MEMORY)
    call(world, canaries.held["key False"], "delete_memories", memory_ids=[MEMORY])
    ask(world, canaries.held["key False"], MEMORY)


@pytest.fixture(scope="module")
def canaries() -> Canaries:
    return Canaries()


@pytest.fixture(scope="module")
def written() -> Iterator[list[str]]:
    """Every log record of every library, at its most talkative, before anything is taken out."""
    lines: list[str] = []

    class Everything(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
            lines.append(f"{record.name} {record.getMessage()} {record.__dict__} {trace}")

    root = logging.getLogger()
    handler, level = Everything(), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture(scope="module")
def lived_in(
    tmp_path_factory: pytest.TempPathFactory, canaries: Canaries, written: list[str]
) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("canary") / "data") as world:
        live(world, canaries)
        yield world


def keys_of(world: World) -> list[bytes]:
    keyring = world.app.engine.store.keyring

    async def vaults_here() -> list[tuple[str, int]]:
        rows = await world.app.engine.store.control.read(lambda tx: tx.all("vaults"))
        return [(row["id"], row["generation"]) for row in rows]

    keys = [keyring.get(*vault) for vault in world.do(vaults_here())]
    return [key for key in keys if key]


@pytest.mark.threat(number=19)
def test_no_file_holds_a_secret_in_clear(
    lived_in: World, canaries: Canaries, tmp_path: Path
) -> None:
    """Of accounts, apps and keys only hashes are kept; memories are in encrypted files alone."""
    on_the_disk = on_disk(lived_in.data, [], tmp_path / "copy")
    assert b"alice@example.com" in on_the_disk  # or the search proves nothing
    assert len(canaries.held) > 25
    assert canaries.found_in(on_the_disk) == []


def test_a_vault_holds_memories_and_no_other_secret(
    lived_in: World, canaries: Canaries, tmp_path: Path
) -> None:
    decrypted = on_disk(lived_in.data, keys_of(lived_in), tmp_path / "copy")
    assert canaries.found_in(decrypted) == ["memory"]


@pytest.mark.threat(number=18)
def test_no_log_holds_a_secret_also_at_its_most_talkative(
    lived_in: World, canaries: Canaries, written: list[str]
) -> None:
    whole = "\n".join(written)
    assert "/token" in whole  # or the search proves nothing
    assert "request" in whole
    assert canaries.found_in(whole.encode()) == []
    for word in (MEMORY.partition(":")[2], "client_secret", "code_verifier", "canary"):
        assert word not in whole


MISPLACED: list[tuple[str, str, Headers]] = [
    ("GET", "/memories/{}", []),
    ("GET", "/mcp/{}", []),
    ("GET", "/{}", []),
    ("GET", "/connections/{}", []),
    ("GET", "/mcp?access_token={}", []),
    ("GET", "/authorize?code={}&client_id={}&state={}", []),
    ("POST", "/token?refresh_token={}", []),
    ("POST", "/mcp", [("X-Request-Id", "{}")]),
    ("POST", "/mcp", [("Authorization", "Basic {}")]),
    ("POST", "/mcp", [("Authorization", "Bearer {} {}")]),
    ("POST", "/mcp", [JSON, ("User-Agent", "Bearer {}"), ("Mcp-Name", "{}")]),
    ("PUT", "/{}", [("Cookie", "rememberd={}")]),
]


@pytest.mark.threat(number=18)
@pytest.mark.parametrize("as_json", [True, False])
def test_a_credential_that_somebody_put_elsewhere_is_taken_out_of_the_log(
    lived_in: World, canaries: Canaries, as_json: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    said = io.StringIO()
    monkeypatch.setattr("sys.stderr", said)
    log.configure("debug", json_lines=as_json)
    try:
        shaped = [
            secret
            for secret in canaries.held.values()
            if secret.startswith(("mk_", "mat_", "mrt_", "mac_", "mcs_", "mss_", "mil_"))
        ]
        for secret in shaped:
            for method, path, headers in MISPLACED:
                filled = [(name, value.replace("{}", secret)) for name, value in headers]
                lived_in.send(method, path.replace("{}", secret), b"", filled)
        last = "the-last-request-of-this-test"
        lived_in.get("/health", ("X-Request-Id", last))
        while last not in said.getvalue():
            pass
    finally:
        root.handlers[:], root.level = handlers, level
    assert len(shaped) > 10
    assert "[redacted]" in said.getvalue()
    assert canaries.found_in(said.getvalue().encode()) == []


@pytest.mark.threat(number=19)
def test_a_code_is_kept_as_a_hash_also_while_it_is_good(
    lived_in: World, canaries: Canaries, tmp_path: Path
) -> None:
    """The second of two clicks gets the same one, and yet it is not written down."""
    person = Person(lived_in, "alice@example.com", canaries.held["new password"])
    app = Program.registered(lived_in)
    request = app.link()
    page = person.ask_consent(request.url)
    first, second = person.decide(page), person.decide(page)
    assert first.location
    assert first.location == second.location
    code = query_of(first.location)["code"][0]
    assert code.encode() not in on_disk(lived_in.data, [], tmp_path / "copy")
    assert app.redeem(code, request.verifier).status == 200


@pytest.mark.threat(number=19)
def test_what_tokens_are_derived_from_is_in_no_database(lived_in: World) -> None:
    """Or whoever took the databases and one old refresh token could go on from there."""
    ring, place = lived_in.app.engine.store.keyring, lived_in.app.engine.store.directory
    master = bytes.fromhex(place.master_key.read_text())
    keys = (ring.derive("refresh tokens"), ring.derive("form tokens"), master)
    files = [path for path in place.root.rglob("*") if path.is_file() and path != place.master_key]
    assert {place.control, place.keys} < set(files)
    for file in files:
        held = file.read_bytes()
        for key in keys:
            for spelled in (key, key.hex().encode(), base64.b64encode(key).rstrip(b"=")):
                assert spelled not in held, file.name


@pytest.mark.threat(number=18)
def test_a_token_in_the_address_opens_nothing(lived_in: World, canaries: Canaries) -> None:
    key = canaries.held["key False"]
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    for name in ("access_token", "token", "key", "api_key"):
        assert lived_in.send("POST", f"/mcp?{name}={key}", body, [JSON]).status == 401
    assert lived_in.send("POST", "/mcp", body, [JSON, bearer(key)]).status == 200
