"""Vaults are made, emptied and erased, whatever else goes on and whatever fails on the way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rememberd.errors import NotFound, StorageError
from rememberd.model import VaultStatus
from rememberd.store import control, ledger, lifecycle
from rememberd.store.keyring import Keyring
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction
from tests.store.world import (
    Failing,
    StillClock,
    new_vault,
    opened,
    registered,
    remember,
    texts,
)


def files(store: Store, vault_id: str) -> list[str]:
    return sorted(file.name for file in store.directory.vaults.glob(f"{vault_id}.*"))


# -- making ------------------------------------------------------------------------------------


async def test_a_new_vault_is_ready_and_empty(store: Store, alice: str) -> None:
    vault = await registered(store, alice)
    assert (vault.status, vault.generation) == (VaultStatus.READY, 1)
    assert await texts(store, alice) == []


async def test_of_two_who_ask_for_a_name_at_once_one_gets_it(store: Store) -> None:
    asked = [lifecycle.create(store, "shared") for _ in range(5)]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert sorted(type(item).__name__ for item in found) == ["Conflict"] * 4 + ["Vault"]


async def test_a_vault_that_could_not_be_made_leaves_its_name_free(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "create_file", Failing(lifecycle.create_file))
    with pytest.raises(OSError, match="disk"):
        await lifecycle.create(store, "alice")
    assert list(store.directory.vaults.iterdir()) == []
    vault = await lifecycle.create(store, "alice")
    assert await texts(store, vault.id) == []


async def test_a_step_that_fails_again_at_the_start_does_not_keep_others_from_starting(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(data_dir) as store:
        alice, bob = await new_vault(store), await new_vault(store, "bob")
        await remember(store, bob, "hello")
        monkeypatch.setattr(lifecycle, "_unlink", Failing(lifecycle._unlink))  # pyright: ignore
        with pytest.raises(OSError, match="disk"):
            await lifecycle.erase(store, alice, "owner")
    monkeypatch.setattr(lifecycle, "_unlink", Failing(lifecycle._unlink))  # pyright: ignore
    async with opened(data_dir) as store:
        assert await texts(store, bob) == ["hello"]
        assert (await registered(store, alice)).status is VaultStatus.ERASING
    async with opened(data_dir) as store:
        assert (await registered(store, alice)).status is VaultStatus.ERASED


# -- forgetting --------------------------------------------------------------------------------


async def test_forgetting_all_leaves_an_empty_vault_under_a_new_key(
    store: Store, alice: str
) -> None:
    old = store.keyring.get(alice, 1)
    for number in range(3):
        await remember(store, alice, f"fact {number}")
    proof = await lifecycle.forget_all(store, alice, "key_1")
    assert (proof.memories_before, proof.mirror_before) == (3, 3)
    assert (proof.memories_after, proof.mirror_after) == (0, 0)
    assert proof.key_versions_destroyed == (1,)
    assert store.keyring.versions(alice) == (2,)
    assert store.keyring.get(alice, 2) not in (old, None)
    assert await texts(store, alice) == []
    assert [name.split(".")[1] for name in files(store, alice)] == ["2"] * len(files(store, alice))
    await remember(store, alice, "new")
    assert await texts(store, alice) == ["new"]


async def test_forgetting_all_keeps_usage_the_audit_chain_and_the_keys_of_apps(
    store: Store, alice: str, clock: StillClock
) -> None:
    def work(tx: Transaction) -> None:
        ledger.meter(tx, 70, None, clock.now())
        ledger.record(tx, actor="a", action="deed", subject=alice, detail={}, now=clock.now())

    async with store.vault(alice, "rw") as vault:
        await vault.write(work)
    for _ in range(2):
        await lifecycle.forget_all(store, alice, "key_1")
    async with store.vault(alice, "ro") as vault:
        assert await vault.read(lambda tx: ledger.used_this_month(tx, clock.now())) == 70
        chain = await vault.read(ledger.verify)
        rows = await vault.read(lambda tx: tx.all("all_audit"))
    assert chain.broken_at is None
    assert [row["action"] for row in rows] == ["deed", "vault.forgotten", "vault.forgotten"]
    assert (await registered(store, alice)).status is VaultStatus.READY


async def test_a_write_beside_forgetting_comes_before_it_or_survives_it(
    store: Store, alice: str
) -> None:
    """What was acknowledged was either counted as forgotten or is still there."""
    acknowledged: list[str] = []

    async def keep_writing(writer: int) -> None:
        for number in range(12):
            text = f"fact {writer}.{number}"
            await remember(store, alice, text)
            acknowledged.append(text)

    async with asyncio.TaskGroup() as tasks:
        for writer in range(4):
            tasks.create_task(keep_writing(writer))
        proofs = [await lifecycle.forget_all(store, alice, "key_1") for _ in range(3)]
    forgotten = sum(proof.memories_before or 0 for proof in proofs)
    assert forgotten + len(await texts(store, alice)) == len(acknowledged) == 48


async def test_forgetting_goes_on_when_the_one_who_asked_goes_away(
    store: Store, alice: str
) -> None:
    await remember(store, alice, "fact")
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(lifecycle.forget_all(store, alice, "key_1"))
        while (await registered(store, alice)).generation == 1:
            task.cancel()
            await asyncio.sleep(0)
            if task.done():
                break
    async with store.alone(alice):  # the step is over when it lets others in
        assert store.keyring.versions(alice) in ((1,), (2,))
    generation = (await registered(store, alice)).generation
    assert store.keyring.versions(alice) == (generation,)
    assert await texts(store, alice) == ([] if generation == 2 else ["fact"])


async def test_forgetting_that_fails_before_the_point_of_no_return_changes_nothing(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remember(store, alice, "fact")
    monkeypatch.setattr(lifecycle, "create_file", Failing(lifecycle.create_file))
    with pytest.raises(OSError, match="disk"):
        await lifecycle.forget_all(store, alice, "key_1")
    assert await texts(store, alice) == ["fact"]
    assert store.keyring.versions(alice) == (1,)


async def test_a_key_that_could_not_be_destroyed_is_destroyed_the_next_time(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the point of no return the old key must go, whichever step comes next."""
    await remember(store, alice, "fact")
    real = Keyring.destroy

    async def destroy(ring: Keyring, vault_id: str, versions: tuple[int, ...]) -> None:
        if 1 in versions:
            raise StorageError("the disk went away")
        await real(ring, vault_id, versions)

    with monkeypatch.context() as patch:
        patch.setattr(Keyring, "destroy", destroy)
        with pytest.raises(StorageError):
            await lifecycle.forget_all(store, alice, "key_1")
    assert await texts(store, alice) == []
    assert store.keyring.versions(alice) == (1, 2)
    await lifecycle.forget_all(store, alice, "key_1")
    assert store.keyring.versions(alice) == (3,)
    assert [name for name in files(store, alice) if ".1." in name or ".2." in name] == []


# -- erasing -----------------------------------------------------------------------------------


async def test_erasing_leaves_no_key_no_file_and_nobody_in(store: Store, alice: str) -> None:
    await remember(store, alice, "fact")
    proof = await lifecycle.erase(store, alice, "owner")
    assert (proof.kind, proof.memories_before, proof.memories_after) == ("erase", 1, 0)
    assert store.keyring.versions(alice) == ()
    assert files(store, alice) == []
    with pytest.raises(NotFound):
        await texts(store, alice)
    with pytest.raises(NotFound):
        await lifecycle.erase(store, alice, "owner")
    assert (await lifecycle.create(store, "alice")).id != alice  # the name is free again


async def test_a_copy_of_an_erased_vaults_file_stays_unreadable(
    store: Store, alice: str, tmp_path: Path
) -> None:
    await remember(store, alice, "fact")
    await store.close_alone(alice)
    copy = store.directory.vault(alice, 1).read_bytes()
    await lifecycle.erase(store, alice, "owner")
    store.directory.vault(alice, 1).write_bytes(copy)
    with pytest.raises(NotFound):
        await texts(store, alice)
    assert store.keyring.get(alice, 1) is None


@pytest.mark.parametrize("harm", ["missing", "empty", "damaged"])
async def test_a_vault_whose_file_is_bad_can_be_erased(data_dir: Path, harm: str) -> None:
    async with opened(data_dir) as store:
        alice = await new_vault(store)
        await remember(store, alice, "fact")
        path = store.directory.vault(alice, 1)
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if harm == "empty" else b"x" * 8192)
    async with opened(data_dir) as store:
        proof = await lifecycle.erase(store, alice, "owner")
        assert (proof.memories_before, proof.memories_after) == (None, 0)
        assert proof.key_versions_destroyed == (1,)
        assert files(store, alice) == []


async def test_erasing_waits_for_readers_and_lets_nobody_else_in(store: Store, alice: str) -> None:
    await remember(store, alice, "fact")
    async with asyncio.TaskGroup() as tasks:
        async with store.vault(alice, "ro") as vault:
            erasing = tasks.create_task(lifecycle.erase(store, alice, "owner"))
            for _ in range(20):
                await asyncio.sleep(0)
            late = tasks.create_task(_fate(store, alice))
            assert await vault.read(lambda tx: tx.value("count_memories")) == 1
            assert not erasing.done()
            assert not late.done()
        await erasing
    assert late.result() == "NotFound"


async def _fate(store: Store, vault_id: str) -> str:
    try:
        await texts(store, vault_id)
    except (NotFound, StorageError) as error:
        return type(error).__name__
    return "read"


async def test_erasing_amid_readers_and_writers_ends_and_nobody_hangs(
    store: Store, alice: str
) -> None:
    async def busy(number: int) -> None:
        while True:
            try:
                await remember(store, alice, f"fact {number}")
                await texts(store, alice)
            except (NotFound, StorageError):
                return

    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        for number in range(6):
            tasks.create_task(busy(number))
        await remember(store, alice, "one at least")
        await lifecycle.erase(store, alice, "owner")
    assert files(store, alice) == []
    assert store.keyring.versions(alice) == ()


async def test_an_erasure_that_failed_half_way_is_taken_up_by_the_next_try(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remember(store, alice, "fact")
    monkeypatch.setattr(lifecycle, "_unlink", Failing(lifecycle._unlink))  # pyright: ignore
    with pytest.raises(OSError, match="disk"):
        await lifecycle.erase(store, alice, "owner")
    assert store.keyring.versions(alice) == ()  # the key goes first
    with pytest.raises(StorageError):
        await texts(store, alice)
    proof = await lifecycle.erase(store, alice, "owner")
    assert (proof.memories_before, proof.key_versions_destroyed) == (1, (1,))
    assert files(store, alice) == []


async def test_keys_of_an_erased_vault_stop_working_before_anything_is_destroyed(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = b"d" * 32
    key = {"id": "key_1", "digest": digest, "vault_id": alice, "name": "app", "hint": "mk_"}
    await store.control.write(
        lambda tx: tx.run("add_key", **key, scopes="memories:read", created_at=0)
    )
    found = await store.control.read(lambda tx: control.match_key(tx, digest))
    assert found is not None
    assert found.usable
    monkeypatch.setattr(lifecycle, "_unlink", Failing(lifecycle._unlink))  # pyright: ignore
    with pytest.raises(OSError, match="disk"):
        await lifecycle.erase(store, alice, "owner")
    found = await store.control.read(lambda tx: control.match_key(tx, digest))
    assert found is not None
    assert not found.usable


async def test_a_vault_that_is_erased_while_it_is_made_stays_erased(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = store.control.write
    made: list[str] = []

    async def write(work: Any, *args: Any) -> Any:
        result = await real(work, *args)
        if not made and hasattr(result, "status"):
            made.append(result.id)
            await lifecycle.erase(store, result.id, "owner")
        return result

    monkeypatch.setattr(store.control, "write", write)
    with pytest.raises(NotFound):
        await lifecycle.create(store, "alice")
    assert (await registered(store, made[0])).status is VaultStatus.ERASED
    assert files(store, made[0]) == []
    assert store.keyring.versions(made[0]) == ()
