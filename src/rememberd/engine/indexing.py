"""Gives memories their vectors, and moves a vault to a new embedding model once all have one.

Derived work: it may stop at any point and go on later, and never brings back what was deleted.
"""

from __future__ import annotations

from collections.abc import Sequence

from rememberd.engine.engine import Engine
from rememberd.inference.embed import Embedder
from rememberd.store import vectors
from rememberd.store.transaction import Transaction
from rememberd.store.vectors import Embedded, Model, Pending

BATCH = 16  # memories a step: short steps let queries and deletions in between


async def embed_pending(engine: Engine, vault_id: str) -> bool:
    """Embed everything in this vault that waits; False when there is no model to do it with.

    Raises UpstreamBusy or EmbedderUnavailable from a hosted model; what was done stays done.
    """
    embedder = await engine.meaning.current()
    if embedder is None:
        return False
    async with engine.store.vault(vault_id, "ro") as vault:
        model, waiting = await vault.read(lambda tx: _look(tx, embedder))
    while waiting:
        embedded = await _embed(embedder, waiting)
        model, waiting = await _keep(engine, vault_id, embedder, embedded)
    if model is not None:
        await _let_answer(engine, vault_id, model)
    return True


async def _let_answer(engine: Engine, vault_id: str, model: Model) -> None:
    """Make `model` the only one, now that it covers every memory."""
    async with engine.store.vault(vault_id, "rw") as vault:
        if await vault.read(vectors.models) == [model.identity]:
            return
        await vault.write(lambda tx: vectors.switch(tx, model))
        await vault.scrub()


def _look(tx: Transaction, embedder: Embedder) -> tuple[Model | None, list[Pending]]:
    model = vectors.model_of(tx, embedder.identity)
    return model, vectors.pending(tx, model, BATCH)


async def _embed(embedder: Embedder, waiting: Sequence[Pending]) -> list[Embedded]:
    # numpy is loaded by now: the embedder needs it.
    from rememberd.inference.vectors import quantise  # noqa: PLC0415

    passages = [embedder.passages(memory.text) for memory in waiting]
    data = quantise(await embedder.embed([p for group in passages for p in group], "memory"))
    rows = iter(data)
    return [
        Embedded(memory.seq, memory.id, [next(rows) for _ in group])
        for memory, group in zip(waiting, passages, strict=True)
    ]


async def _keep(
    engine: Engine, vault_id: str, embedder: Embedder, embedded: list[Embedded]
) -> tuple[Model | None, list[Pending]]:
    def store(tx: Transaction) -> tuple[Model | None, list[Pending]]:
        model = vectors.ensure_model(tx, embedder.identity, embedder.dimension)
        vectors.add(tx, model, embedded)
        return model, vectors.pending(tx, model, BATCH)

    async with engine.store.vault(vault_id, "rw") as vault:
        return await vault.write(store)
