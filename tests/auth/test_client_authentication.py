"""Who a request to the token endpoint is from: every way of saying so, and every wrong one."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote_plus

import pytest

from rememberd.auth.clients import Clients
from rememberd.auth.errors import OAuthError
from rememberd.store.store import Store
from tests.store.world import StillClock, opened

Made = dict[str, Any]


@pytest.fixture(scope="module")
async def store(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Store]:
    """One for all: no test here changes what another one sees."""
    async with opened(tmp_path_factory.mktemp("data") / "data") as store:
        yield store


@pytest.fixture(scope="module")
def clients(store: Store) -> Clients:
    return Clients.assemble(store, StillClock(), "https://memory.example")


async def registered(clients: Clients, method: str | None) -> Made:
    said = {"redirect_uris": ["https://app.example/cb"], "token_endpoint_auth_method": method}
    return await clients.register(json.dumps(said).encode(), None)


def basic(client_id: str, secret: str, scheme: str = "Basic") -> dict[str, str]:
    pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"
    return {"authorization": f"{scheme} {base64.b64encode(pair.encode()).decode()}"}


def post(client_id: str, secret: str | None = None) -> dict[str, str]:
    return {"client_id": client_id} | ({} if secret is None else {"client_secret": secret})


async def refused(clients: Clients, form: dict[str, str], headers: dict[str, str]) -> OAuthError:
    with pytest.raises(OAuthError) as caught:
        await clients.authenticate(form, headers)
    return caught.value


@pytest.mark.parametrize("method", ["none", None])
async def test_a_public_client_names_itself(clients: Clients, method: str | None) -> None:
    made = await registered(clients, method)
    client = await clients.authenticate(post(made["client_id"]), {})
    assert client.id == made["client_id"]


@pytest.mark.quirk(number=23)
async def test_a_public_client_may_name_itself_in_the_header_alone(clients: Clients) -> None:
    client_id = (await registered(clients, "none"))["client_id"]
    assert (await clients.authenticate({}, basic(client_id, ""))).id == client_id
    assert (await clients.authenticate(post(client_id), basic(client_id, ""))).id == client_id
    assert (await clients.authenticate(post(client_id, ""), {})).id == client_id


@pytest.mark.quirk(number=23)
async def test_a_secret_is_accepted_the_way_it_was_registered(clients: Clients) -> None:
    made = await registered(clients, "client_secret_post")
    client_id, secret = made["client_id"], made["client_secret"]
    assert (await clients.authenticate(post(client_id, secret), {})).id == client_id
    assert (await refused(clients, {}, basic(client_id, secret))).error == "invalid_client"

    made = await registered(clients, "client_secret_basic")
    client_id, secret = made["client_id"], made["client_secret"]
    assert (await clients.authenticate({}, basic(client_id, secret))).id == client_id
    assert (await clients.authenticate(post(client_id), basic(client_id, secret))).id == client_id
    assert (await clients.authenticate({}, basic(client_id, secret, "bAsIc"))).id == client_id
    assert (await refused(clients, post(client_id, secret), {})).error == "invalid_client"


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
async def test_a_wrong_secret_or_none_is_refused(clients: Clients, method: str) -> None:
    made, other = await registered(clients, method), await registered(clients, method)
    client_id, secret = made["client_id"], made["client_secret"]
    for wrong in ("", "x", secret[:-1], secret + "x", secret.upper(), other["client_secret"], "ü"):
        form = post(client_id, wrong) if method == "client_secret_post" else {}
        headers = {} if form else basic(client_id, wrong)
        assert (await refused(clients, form, headers)).error == "invalid_client"
    assert (await refused(clients, post(client_id), {})).error == "invalid_client"


async def test_who_registered_without_a_secret_cannot_bring_one(clients: Clients) -> None:
    client_id = (await registered(clients, "none"))["client_id"]
    assert (await refused(clients, post(client_id, "x"), {})).error == "invalid_client"
    assert (await refused(clients, {}, basic(client_id, "x"))).error == "invalid_client"


@pytest.mark.quirk(number=23)
async def test_who_registered_no_method_is_held_to_none(clients: Clients) -> None:
    client_id = (await registered(clients, None))["client_id"]
    assert (await clients.authenticate(post(client_id, "stray"), {})).id == client_id
    assert (await clients.authenticate({}, basic(client_id, "stray"))).id == client_id


@pytest.mark.parametrize(
    "form, headers",
    [
        ({}, {}),
        ({"client_secret": "x"}, {}),
        (post("clt_unknown"), {}),
        (post("clt_unknown", "x"), {}),
        (post("ünknown"), {}),
        (post("x" * 10_000), {}),
        ({}, basic("clt_unknown", "x")),
        ({}, {"authorization": "Basic"}),
        ({}, {"authorization": "Basic !!!"}),
        ({}, {"authorization": "Basic " + base64.b64encode(b"\xff:x").decode()}),
        ({}, {"authorization": "Basic " + base64.b64encode(b"no colon").decode()}),
        ({}, {"authorization": "Bearer mat_x"}),
    ],
    ids=range(12),
)
async def test_a_stranger_is_an_invalid_client(
    clients: Clients, form: dict[str, str], headers: dict[str, str]
) -> None:
    """Claude registers anew on `invalid_client`, and on nothing else (fastmcp #1762)."""
    assert (await refused(clients, form, headers)).error == "invalid_client"


async def test_two_proofs_at_once_are_one_too_many(clients: Clients) -> None:
    made = await registered(clients, "client_secret_basic")
    client_id, secret = made["client_id"], made["client_secret"]
    both = await refused(clients, post(client_id, secret), basic(client_id, secret))
    assert both.error == "invalid_request"
    other = await refused(clients, post("clt_other"), basic(client_id, secret))
    assert other.error == "invalid_request"


async def test_another_scheme_in_the_header_is_not_ours_to_judge(clients: Clients) -> None:
    client_id = (await registered(clients, "none"))["client_id"]
    headers = {"authorization": "Bearer mat_x"}
    assert (await clients.authenticate(post(client_id), headers)).id == client_id


async def test_both_halves_of_the_header_are_form_decoded(clients: Clients) -> None:
    """RFC 6749 §2.3.1: a client that is a URL has its colon encoded."""
    error = await refused(clients, {}, basic("https://app.example/client.json", "a b+c:d%"))
    assert "not known" in error.description
    pair = base64.b64encode(b"clt%5Fx:a+b%3Ac").decode()
    error = await refused(clients, post("clt_x"), {"authorization": f"Basic {pair}"})
    assert "not known" in error.description  # and not: client_id differs


async def test_the_header_is_asked_for_only_of_those_who_tried_it(clients: Clients) -> None:
    error = await refused(clients, {}, basic("clt_x", "x"))
    challenge = clients.challenge_for(error, basic("clt_x", "x"))
    assert challenge == {"WWW-Authenticate": 'Basic realm="rememberd"'}
    assert clients.challenge_for(error, {"authorization": "Basic"}) == challenge
    assert clients.challenge_for(error, {}) == {}
    assert clients.challenge_for(error, {"authorization": "Bearer x"}) == {}
    passing = OAuthError("temporarily_unavailable", "later")
    assert clients.challenge_for(passing, basic("clt_x", "x")) == {}


async def test_no_refusal_repeats_a_secret(clients: Clients) -> None:
    made = await registered(clients, "client_secret_post")
    for form in (post(made["client_id"], "hunter2"), post("clt_x", "hunter2")):
        error = await refused(clients, form, basic("hunter2", "hunter2"))
        assert "hunter2" not in str(error)
        error = await refused(clients, form, {})
        assert "hunter2" not in str(error)
