"""Clients that sign (private_key_jwt, RFC 7523): real signatures count once, forgeries never."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from rememberd.auth.clients import Clients
from rememberd.auth.errors import OAuthError
from rememberd.model import Client
from rememberd.store import oauth
from rememberd.store.store import Store
from tests.auth.origin import Origin, answer, origin
from tests.auth.signing import (
    ISSUER,
    Key,
    claims,
    ec,
    forged_with_public_key,
    form,
    published,
    raw,
    rsa,
    signed,
    weakly_signed,
)
from tests.store.world import StillClock, opened

PATH, KEYS = "/oauth/client.json", "/oauth/jwks.json"


class World:
    """One signing client, `app`, whose document and keys lie on `site`."""

    def __init__(self, store: Store, clock: StillClock, site: Origin) -> None:
        self.store = store
        self.clock = clock
        self.site = site
        self.clients = Clients.assemble(store, clock, ISSUER, site.network())
        self.app = site.url(PATH)

    def publish(self, *keys: Key, headers: tuple[str, ...] = (), **members: Any) -> None:
        document = {
            "client_id": self.app,
            "client_name": "App",
            "redirect_uris": ["https://app.example/cb"],
            "token_endpoint_auth_method": "private_key_jwt",
            "jwks_uri": self.site.url(KEYS),
        }
        document = {name: value for name, value in (document | members).items() if value}
        self.site.answers[PATH] = answer(document, "Cache-Control: max-age=86400")
        self.site.answers[KEYS] = answer(published(*keys), *headers)

    async def consent(self) -> None:
        """Somebody who is signed in lets the client in."""
        await self.clients.resolve(self.app, "alice")
        await self.use(self.app)

    async def use(self, client_id: str) -> None:
        await self.store.control.write(lambda tx: tx.run("touch_client", id=client_id, at=1))

    def claims(self, **changes: Any) -> dict[str, Any]:
        return claims(self.app, self.clock, **changes)

    async def authenticate(self, assertion: str, **more: str) -> Client:
        return await self.clients.authenticate(form(assertion, **more), {})

    async def refused(self, assertion: str, **more: str) -> OAuthError:
        with pytest.raises(OAuthError) as caught:
            await self.authenticate(assertion, **more)
        return caught.value

    @property
    def looks(self) -> int:
        """How often the keys were fetched."""
        return self.site.paths.count(KEYS)


@pytest.fixture
async def world(store: Store, clock: StillClock, site: Origin) -> World:
    world = World(store, clock, site)
    world.publish(rsa())
    await world.consent()
    return world


@pytest.fixture(scope="module")
async def steady(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[World]:
    """The same, for many tests that change nothing in it, and look for no other keys."""
    folder, clock = tmp_path_factory.mktemp("steady"), StillClock()
    async with opened(folder / "data", clock=clock) as store, origin(folder) as site:
        world = World(store, clock, site)
        world.publish(rsa())
        await world.consent()
        yield world


@pytest.mark.parametrize("key", [rsa, ec], ids=["RS256", "ES256"])
async def test_a_signature_proves_who_asks(world: World, key: Any) -> None:
    world.publish(key())
    assert (await world.authenticate(signed(key(), world.claims()))).id == world.app


@pytest.mark.parametrize(
    "audience",
    [ISSUER, f"{ISSUER}/", f"{ISSUER}/token", [ISSUER], [ISSUER, f"{ISSUER}/token"]],
    ids=str,
)
async def test_it_may_be_addressed_to_the_issuer_or_the_token_endpoint(
    steady: World, audience: object
) -> None:
    await steady.authenticate(signed(rsa(), steady.claims(aud=audience)))


async def test_client_id_may_stand_beside_it_if_it_is_the_same(steady: World) -> None:
    await steady.authenticate(signed(rsa(), steady.claims()), client_id=steady.app)
    error = await steady.refused(signed(rsa(), steady.claims()), client_id="clt_other")
    assert error.error == "invalid_request"


async def test_a_key_without_a_name_serves_too(world: World) -> None:
    world.publish(ec(), rsa("other"), rsa())
    await world.authenticate(signed(rsa(), world.claims(), kid=None))


async def test_its_keys_may_stand_in_the_document(world: World) -> None:
    world.publish(jwks_uri=None, jwks=published(ec()))
    world.clock.move(days=1)
    await world.authenticate(signed(ec(), world.claims()))
    assert world.looks == 0


@pytest.mark.quirk(number=11)
async def test_a_client_that_offers_both_may_sign_or_not(world: World) -> None:
    """ChatGPT's document offers both, and it has been seen to use either (engram #1633)."""
    world.publish(rsa(), token_endpoint_auth_methods_supported=["none", "private_key_jwt"])
    world.clock.move(days=1)
    assert (await world.clients.authenticate({"client_id": world.app}, {})).auth_method == "none"
    await world.authenticate(signed(rsa(), world.claims()))
    assert (await world.refused(signed(rsa("other"), world.claims()))).error == "invalid_client"


async def test_a_client_that_has_to_sign_cannot_leave_it_out(steady: World) -> None:
    with pytest.raises(OAuthError, match="registered for private_key_jwt"):
        await steady.clients.authenticate({"client_id": steady.app}, {})


# --- forgeries ---------------------------------------------------------------------------------


@pytest.mark.threat(number=25)
async def test_without_a_signature_it_is_refused(world: World) -> None:
    for algorithm in ("none", "None", "NONE", "", None, 5, ["RS256"]):
        header = {"alg": algorithm, "kid": rsa().kid}
        error = await world.refused(raw(header, world.claims()))
        assert error.error == "invalid_client"
        assert "alg" in error.description
    unsigned = raw({"alg": "RS256", "kid": rsa().kid}, world.claims())
    assert "not signed" in (await world.refused(unsigned)).description


@pytest.mark.threat(number=25)
async def test_a_public_key_is_no_shared_secret(steady: World) -> None:
    error = await steady.refused(forged_with_public_key(rsa(), steady.claims()))
    assert "alg" in error.description


@pytest.mark.threat(number=25)
async def test_the_key_of_another_client_is_refused(world: World) -> None:
    other = rsa("mallory")
    assert (
        "not signed"
        in (await world.refused(signed(other, world.claims(), kid="first"))).description
    )
    error = await world.refused(signed(other, world.claims(), jwk=other.as_dict(private=False)))
    assert "not signed" in error.description


async def test_where_its_keys_are_is_not_the_assertions_to_say(steady: World) -> None:
    other = rsa("mallory")
    steady.site.answers["/mallory"] = answer(published(other))
    where = steady.site.url("/mallory")
    await steady.refused(signed(other, steady.claims(), jku=where, x5u=where))
    assert "/mallory" not in steady.site.paths


async def test_what_was_changed_after_signing_is_refused(world: World) -> None:
    header, _, signature = signed(rsa(), world.claims(exp=1)).split(".")
    claimed = raw({}, world.claims()).split(".")[1]
    error = await world.refused(f"{header}.{claimed}.{signature}")
    assert "not signed" in error.description


@pytest.mark.parametrize(
    "members, why",
    [({"use": "enc"}, "for encryption"), ({"alg": "RS512"}, "for another algorithm"),
     ({"alg": "HS256"}, "for a shared secret"), ({"kty": "oct"}, "no public key"),
     ({"kty": "EC"}, "a kind it is not"), ({"n": 5}, "no number"), ({"n": "x" * 9}, "too short"),
     ({"n": "x" * 3_000}, "too long"), ({"e": "x" * 300}, "slow"), ({"e": "AA"}, "broken")],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
async def test_a_key_that_is_for_something_else_is_not_used(
    world: World, members: dict[str, Any], why: str
) -> None:
    world.site.answers[KEYS] = answer(published(rsa(), **members))
    assert (await world.refused(signed(rsa(), world.claims()))).error == "invalid_client"


async def test_a_key_that_is_too_short_proves_nothing(world: World) -> None:
    assertion, key = weakly_signed(world.claims())
    world.site.answers[KEYS] = answer({"keys": [key]})
    assert "not signed" in (await world.refused(assertion)).description


async def test_an_algorithm_that_was_registered_is_the_only_one(world: World) -> None:
    world.publish(rsa(), ec(), token_endpoint_auth_signing_alg="ES256")
    world.clock.move(days=1)
    await world.authenticate(signed(ec(), world.claims()))
    error = await world.refused(signed(rsa(), world.claims()))
    assert "another algorithm" in error.description


# --- claims ------------------------------------------------------------------------------------

NOW = StillClock().now().timestamp()


@pytest.mark.threat(number=25)
@pytest.mark.parametrize(
    "changes, says",
    [
        ({"iss": "clt_other"}, "iss and sub"),
        ({"iss": None}, "iss and sub"),
        ({"sub": None}, "sub is missing"),
        ({"sub": 5}, "sub is missing"),
        ({"aud": None}, "aud must be"),
        ({"aud": "https://other.example"}, "aud must be"),
        ({"aud": f"{ISSUER}//"}, "aud must be"),
        ({"aud": f"{ISSUER}/mcp"}, "aud must be"),
        ({"aud": []}, "aud must be"),
        ({"aud": [ISSUER, "https://other.example"]}, "aud must be"),
        ({"aud": {ISSUER: 1}}, "aud must be"),
        ({"jti": None}, "jti is missing"),
        ({"jti": ""}, "jti is missing"),
        ({"jti": 5}, "jti is missing"),
        ({"jti": "x" * 257}, "jti is missing"),
        ({"exp": None}, "exp is missing"),
        ({"exp": NOW - 60}, "exp has passed"),
        ({"exp": NOW + 661}, "more than ten minutes ahead"),
        ({"exp": 1e300}, "seconds since 1970"),
        ({"exp": "2030-01-01"}, "seconds since 1970"),
        ({"exp": [NOW]}, "seconds since 1970"),
        ({"nbf": NOW + 61}, "lies ahead"),
        ({"iat": NOW + 61}, "lies ahead"),
        ({"iat": NOW - 3_601}, "more than an hour ago"),
        ({"iat": "x"}, "seconds since 1970"),
        ({"nbf": {}}, "seconds since 1970"),
    ],
    ids=str,
)
async def test_a_claim_that_is_wrong_is_named(
    steady: World, changes: dict[str, Any], says: str
) -> None:
    error = await steady.refused(signed(rsa(), steady.claims(**changes)))
    assert error.error == "invalid_client"
    assert says in error.description


async def test_clocks_may_differ_by_a_minute(steady: World) -> None:
    for changes in (
        {"exp": NOW - 59},
        {"exp": NOW + 659},
        {"iat": NOW + 59},
        {"nbf": NOW + 59},
        {"iat": None},
        {"exp": NOW + 60.5},
    ):
        await steady.authenticate(signed(rsa(), steady.claims(**changes)))


@pytest.mark.threat(number=25)
async def test_an_assertion_counts_once(steady: World) -> None:
    assertion = signed(rsa(), steady.claims())
    await steady.authenticate(assertion)
    assert "used before" in (await steady.refused(assertion)).description
    again = signed(rsa(), steady.claims(jti=json_of(assertion)["jti"], aud=f"{ISSUER}/token"))
    assert "used before" in (await steady.refused(again)).description


async def test_it_is_remembered_for_as_long_as_it_could_count(world: World) -> None:
    assertion = signed(rsa(), world.claims())
    await world.authenticate(assertion)
    for seconds, says in ((359, "used before"), (1, "exp has passed")):
        world.clock.move(seconds=seconds)
        now = world.clock.now()
        await world.store.control.write(lambda tx, at=now: oauth.expire(tx, at, at))
        assert says in (await world.refused(assertion)).description


async def test_a_forgery_uses_up_nothing(steady: World) -> None:
    said = steady.claims()
    await steady.refused(signed(rsa("mallory"), said, kid="first"))
    await steady.authenticate(signed(rsa(), said))


async def test_two_clients_may_use_the_same_jti(steady: World) -> None:
    made = await registered(steady, jwks=published(rsa("own")))
    await steady.authenticate(signed(rsa(), steady.claims(jti="1")))
    await steady.authenticate(signed(rsa("own"), claims(made, steady.clock, jti="1")))


# --- shapes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "assertion",
    ["", ".", "..", "a.b.c", "a.b", "a.b.c.d", "e30.e30.", "W10.e30.x", "e30.W10.x", "e30 .e30.x",
     "\u00e9.e30.x", "=.=.=", "e30." + "x" * 20_000 + ".x"],
    ids=range(13),
)  # fmt: skip
async def test_what_is_no_jwt_is_refused(steady: World, assertion: str) -> None:
    error = await steady.refused(assertion)
    assert error.error == "invalid_client"


@pytest.mark.parametrize("header", [{"crit": ["exp"]}, {"b64": False, "crit": ["b64"]}])
async def test_extensions_are_not_understood(steady: World, header: dict[str, Any]) -> None:
    error = await steady.refused(raw({"alg": "RS256"} | header, steady.claims()))
    assert "crit" in error.description


async def test_its_type_has_to_be_said(steady: World) -> None:
    for kind in ("", "jwt", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"):
        sent = form(signed(rsa(), steady.claims())) | {"client_assertion_type": kind}
        with pytest.raises(OAuthError, match="client_assertion_type must be"):
            await steady.clients.authenticate(sent, {})


async def test_a_secret_beside_it_is_one_proof_too_many(steady: World) -> None:
    error = await steady.refused(signed(rsa(), steady.claims()), client_secret="x")
    assert error.error == "invalid_request"


async def test_it_is_not_repeated_in_a_refusal(steady: World) -> None:
    assertion = signed(rsa("mallory"), steady.claims(jti="canary"), kid="canary")
    error = await steady.refused(assertion)
    assert "canary" not in str(error)
    assert assertion not in str(error)


# --- keys that move ----------------------------------------------------------------------------


async def test_keys_are_fetched_once_while_they_are_fresh(world: World) -> None:
    world.publish(rsa(), headers=("Cache-Control: max-age=3600",))
    for _ in range(3):
        await world.authenticate(signed(rsa(), world.claims()))
    assert world.looks == 1
    world.clock.move(minutes=61)
    await world.authenticate(signed(rsa(), world.claims()))
    assert world.looks == 2


async def test_a_new_key_is_found_at_once(world: World) -> None:
    await world.authenticate(signed(rsa(), world.claims()))
    world.publish(rsa("second"))
    await world.authenticate(signed(rsa("second"), world.claims()))
    assert world.looks == 2
    assert (await world.refused(signed(rsa(), world.claims()))).error == "temporarily_unavailable"
    world.clock.move(seconds=61)
    assert (await world.refused(signed(rsa(), world.claims()))).error == "invalid_client"


@pytest.mark.threat(number=25)
async def test_nonsense_does_not_make_us_ask_for_keys_all_the_time(world: World) -> None:
    await world.authenticate(signed(rsa(), world.claims()))
    errors = [
        await world.refused(signed(rsa("mallory"), world.claims(), kid=f"{n}")) for n in range(20)
    ]
    assert world.looks == 2
    assert {error.error for error in errors[1:]} == {"temporarily_unavailable"}


async def test_a_wrong_signature_by_a_known_key_makes_us_ask_nobody(world: World) -> None:
    await world.authenticate(signed(rsa(), world.claims()))
    for _ in range(5):
        error = await world.refused(signed(rsa("mallory"), world.claims(), kid="first"))
        assert error.error == "invalid_client"
    assert world.looks == 1


@pytest.mark.parametrize(
    "outage",
    [answer({}, status="503 Busy"), answer({}, status="404 Not Found"), answer({}), b"",
     answer({"keys": [{"kty": "oct", "k": "x"}]})],
    ids=["503", "404", "no keys", "no answer", "private keys"],
)  # fmt: skip
async def test_an_outage_of_the_keys_is_never_called_a_wrong_client(
    world: World, outage: bytes
) -> None:
    world.site.answers[KEYS] = outage
    error = await world.refused(signed(rsa(), world.claims()))
    assert error.error == "temporarily_unavailable"
    world.publish(rsa())
    await world.authenticate(signed(rsa(), world.claims()))
    world.site.answers[KEYS] = outage
    world.clock.move(hours=24)
    await world.authenticate(signed(rsa(), world.claims()))
    world.clock.move(minutes=6)
    error = await world.refused(signed(rsa(), world.claims()))
    assert error.error == "temporarily_unavailable"


async def test_keys_in_a_document_that_vanished_count_for_a_week(world: World) -> None:
    world.publish(jwks_uri=None, jwks=published(rsa()))
    world.clock.move(days=1)
    await world.authenticate(signed(rsa(), world.claims()))
    world.site.answers.clear()
    world.clock.move(days=7, hours=23)
    await world.authenticate(signed(rsa(), world.claims()))
    world.clock.move(hours=2)
    error = await world.refused(signed(rsa(), world.claims()))
    assert error.error == "temporarily_unavailable"


# --- clients that registered -------------------------------------------------------------------


async def registered(world: World, **members: Any) -> str:
    said = {
        "redirect_uris": ["https://app.example/cb"],
        "token_endpoint_auth_method": "private_key_jwt",
        **members,
    }
    made = await world.clients.register(json.dumps(said).encode(), None)
    assert made["token_endpoint_auth_method"] == "private_key_jwt"
    assert "client_secret" not in made
    return made["client_id"]


async def test_a_registered_client_may_sign_too(steady: World) -> None:
    client_id = await registered(steady, jwks=published(ec()))
    await steady.authenticate(signed(ec(), claims(client_id, steady.clock)))


async def test_who_registers_cannot_have_us_ask_around(world: World) -> None:
    """Anybody may register, so its keys are fetched only once a person has let it in."""
    client_id = await registered(world, jwks_uri=world.site.url(KEYS))
    asked = len(world.site.requests)
    error = await world.refused(signed(rsa(), claims(client_id, world.clock)))
    assert error.error == "invalid_client"
    assert len(world.site.requests) == asked
    await world.use(client_id)
    await world.authenticate(signed(rsa(), claims(client_id, world.clock)))


async def test_a_client_that_registered_to_be_public_cannot_sign(steady: World) -> None:
    made = await registered_public(steady)
    error = await steady.refused(signed(rsa(), claims(made, steady.clock)))
    assert "registered for none" in error.description


async def registered_public(world: World) -> str:
    said = {"redirect_uris": ["https://app.example/cb"], "jwks": published(rsa())}
    return (await world.clients.register(json.dumps(said).encode(), None))["client_id"]


def json_of(assertion: str) -> dict[str, Any]:
    body = assertion.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return found
