"""`/memories/{id}`: one memory, where it came from and what came of it."""

import pytest

from rememberd.model import Draft, Memory, Source, Vault
from tests.console.people import (
    REFUSED,
    form_token,
    get,
    home,
    leads_to_sign_in,
    methods_not_allowed,
    post,
    refusals_of_forms_not_its_own,
    remember,
    text,
    vaults_of,
)
from tests.oauth.person import Person
from tests.oauth.world import World


@pytest.fixture(scope="module")
def shared(world: World, alice: Person) -> Vault:
    alice.new_vault("team", home(world, alice))
    return vaults_of(world, alice)["team"]


@pytest.fixture
def orchid(world: World, shared: Vault) -> Memory:
    draft = Draft(
        text="The release phrase is ORCHID-7419.\nAsk Bob.",
        source=Source.USER_STATED,
        tags=("release",),
        source_context="planning",
        app="Scribe",
    )
    return remember(world, shared, draft)


@pytest.fixture
def reflection(world: World, shared: Vault, orchid: Memory) -> Memory:
    draft = Draft(text="Releases have phrases.", tier=2, importance=8)
    return remember(world, shared, draft, orchid)


def delete(world: World, person: Person, memory: Memory, **fields: str) -> int:
    token = form_token(person.open("/sign-out"))
    form = {"form_token": token, "action": "delete", **fields}
    return post(world, person, f"/memories/{memory.id}", form).status


def test_it_shows_text_provenance_and_vault(world: World, alice: Person, orchid: Memory) -> None:
    page = alice.open(f"/memories/{orchid.id}")
    assert "ORCHID-7419.\nAsk Bob." in text(page.reply)
    for said in ("Stated by a person", "Scribe", "planning", "release", "team", orchid.id):
        assert said in page.text


def test_lineage_leads_both_ways(
    world: World, alice: Person, orchid: Memory, reflection: Memory
) -> None:
    page = alice.open(f"/memories/{reflection.id}")
    assert "importance 8 of 10" in page.text
    assert f"/memories/{orchid.id}" in page.links
    page = alice.open(f"/memories/{orchid.id}")
    assert f"/memories/{reflection.id}" in page.links


def test_it_is_found_in_whichever_vault_it_is(world: World, alice: Person) -> None:
    alice.new_vault("far away")
    memory = remember(world, vaults_of(world, alice)["far away"], Draft(text="Here I am."))
    assert "Here I am." in alice.open(f"/memories/{memory.id}").text


def test_members_read_and_only_as_far_as_their_role_delete(
    world: World, alice: Person, bob: Person, orchid: Memory
) -> None:
    page = bob.open(f"/memories/{orchid.id}")
    assert "ORCHID-7419" in page.text
    assert "You are reader of this vault, so you cannot delete here." in page.text
    token = form_token(bob.open("/sign-out"))
    fields = {"form_token": token, "action": "delete"}
    refused = post(world, bob, f"/memories/{orchid.id}", fields)
    assert refused.status == 403
    assert "As reader of this vault you cannot delete." in text(refused)
    assert get(world, alice, f"/memories/{orchid.id}").status == 200


def test_deleting_names_what_stays(
    world: World, alice: Person, orchid: Memory, reflection: Memory
) -> None:
    page = alice.open(f"/memories/{orchid.id}")
    assert "may still quote it: 1 reflection" in page.text
    page = alice.submit(page, page.form(having="action"), ("action", "delete"))
    assert page.status == 200
    assert f"/memories/{reflection.id}" in page.links
    assert get(world, alice, f"/memories/{orchid.id}").status == 404
    left = alice.open(f"/memories/{reflection.id}")
    assert "1 of its sources was deleted since" in left.text


def test_strangers_find_nothing(world: World, charlie: Person, orchid: Memory) -> None:
    reply = get(world, charlie, f"/memories/{orchid.id}")
    assert reply.status == 404
    assert "ORCHID" not in text(reply)
    assert delete(world, charlie, orchid) == 404


def test_a_denial_tells_nothing_about_what_is_there(
    world: World, charlie: Person, orchid: Memory
) -> None:
    there = charlie.open(f"/memories/{orchid.id}")
    not_there = charlie.open(f"/memories/{orchid.id[:-4]}0000")
    assert there.text == not_there.text


@pytest.mark.parametrize("memory_id", ["mem_nothing", "'", "%00", "%E2%80%AE"])
def test_a_bad_id_is_not_found(world: World, alice: Person, memory_id: str) -> None:
    assert get(world, alice, f"/memories/{memory_id}").status == 404


def test_only_a_deletion_deletes(world: World, alice: Person, orchid: Memory) -> None:
    assert delete(world, alice, orchid, action="") == 400
    assert delete(world, alice, orchid, action="deleted") == 400
    assert get(world, alice, f"/memories/{orchid.id}").status == 200


def test_text_is_shown_as_text(world: World, alice: Person, shared: Vault) -> None:
    draft = Draft(
        text="<script>alert(1)</script> {{ 7 * 7 }} </blockquote>",
        tags=("<b>bold</b>",),
        source_context='"><i>',
        app="<u>app</u>",
    )
    memory = remember(world, shared, draft)
    html = text(alice.open(f"/memories/{memory.id}").reply)
    for raw in ("<script>alert", "<b>bold", "<i>", "<u>app"):
        assert raw not in html
    assert "{{ 7 * 7 }}" in html


def test_whoever_is_not_signed_in_is_led_there_and_back(world: World, orchid: Memory) -> None:
    assert leads_to_sign_in(world, f"/memories/{orchid.id}")
    browser = Person(world, "alice@example.com")
    page = browser.sign_in_at(browser.open(f"/memories/{orchid.id}"))
    assert "ORCHID-7419" in page.text


def test_forms_that_are_not_its_own_delete_nothing(
    world: World, alice: Person, charlie: Person, orchid: Memory
) -> None:
    path = f"/memories/{orchid.id}"
    refusals = refusals_of_forms_not_its_own(world, alice, charlie, path, {"action": "delete"})
    assert refusals == REFUSED
    assert get(world, alice, path).status == 200


def test_it_takes_a_look_and_a_form(world: World, alice: Person, orchid: Memory) -> None:
    assert methods_not_allowed(world, alice, f"/memories/{orchid.id}", "PUT", "DELETE")
