"""A diagnosis leaves nothing behind, and takes away what one that was killed left."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from rememberd.engine.diagnosis import diagnose
from rememberd.errors import EmbedderUnavailable
from rememberd.inference.embed import QueryCache
from rememberd.model import Principal, VaultStatus
from rememberd.store import control
from tests.engine.world import Models, World, world_on
from tests.fakes import WordHashEmbedder


async def names(world: World) -> set[str]:
    """Of the vaults that are there."""
    found = await world.store.control.read(control.vaults)
    return {vault.name for vault in found if vault.status is VaultStatus.READY}


async def test_a_diagnosis_erases_its_own_vault(world: World, alice: Principal) -> None:
    before = await names(world)
    checks = {check.name: check.outcome for check in await diagnose(world.engine)}
    assert checks["round trip"] == "ok"
    assert await names(world) == before


async def test_a_vault_of_a_diagnosis_that_was_killed_goes_with_a_later_one(world: World) -> None:
    usual = await names(world)
    left = world.clock.new_id("doctor")
    for name in (left, "doctor_who", f"x{left}"):
        await world.vault(name)
    await diagnose(world.engine)
    assert left in await names(world)  # another diagnosis may be at work in it
    world.clock.at += timedelta(hours=2)
    await diagnose(world.engine)
    assert await names(world) == {*usual, "doctor_who", f"x{left}"}


async def test_a_vault_that_was_just_written_to_is_whole(world: World, alice: Principal) -> None:
    """Also for a connection that was open before."""
    for number in range(20):
        await world.keep(alice, f"The harbour light number {number} is green.")
        checks = {check.name: check for check in await diagnose(world.engine)}
        assert checks["vaults"].outcome == "ok", checks["vaults"]


async def test_keys_in_no_export_are_counted_with_the_command_that_helps(world: World) -> None:
    checks = {check.name: check for check in await diagnose(world.engine)}
    assert checks["key export"].detail.startswith("1 key is in no export.")
    command = f"rememberd keys export FILE --data {world.store.directory.root}"
    assert f"`{command}`" in str(checks["key export"].advice)
    await world.vault("bob")
    checks = {check.name: check for check in await diagnose(world.engine)}
    assert checks["key export"].detail.startswith("2 keys are in no export.")


async def test_the_embedder_is_asked_anew_whatever_it_answered_before(data_dir: Path) -> None:
    models, model = Models(), WordHashEmbedder()
    models.by_kind["bundled"] = QueryCache(model)
    async with world_on(data_dir, models) as world:
        for error, outcome in ((None, "ok"), ("it does not answer", "warning"), (None, "ok")):
            model.error = EmbedderUnavailable(error) if error else None
            [check] = [one for one in await diagnose(world.engine) if one.name == "embedder"]
            assert check.outcome == outcome
            assert (error or "bundled, ready") in check.detail
