"""Vectors of memories, and which embedding model a vault answers with.

A vector is derived: it is written only for a memory that still exists unchanged, so nothing erased
comes back through a late worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rememberd.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model that this vault has vectors of."""

    id: int
    identity: str
    dimension: int
    active: bool


@dataclass(frozen=True, slots=True)
class Pending:
    """A memory that waits for a vector."""

    seq: int
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one memory, one per passage, as int8 bytes."""

    seq: int
    id: str
    passages: Sequence[bytes]


def _models(tx: Transaction) -> list[Model]:
    """One, or two while a vault moves to a new model."""
    return [
        Model(row["id"], row["identity"], row["dimension"], bool(row["active"]))
        for row in tx.all("models")
    ]


def active_model(tx: Transaction) -> Model | None:
    """The model that answers queries; None before the first vector."""
    return next((model for model in _models(tx) if model.active), None)


def model_of(tx: Transaction, identity: str) -> Model | None:
    return next((model for model in _models(tx) if model.identity == identity), None)


def models(tx: Transaction) -> list[str]:
    """Identities of every model that this vault has vectors of."""
    return [model.identity for model in _models(tx)]


def ensure_model(tx: Transaction, identity: str, dimension: int) -> Model:
    """The model of this identity, added if new; the first one of a vault is active at once."""
    tx.run("add_model", identity=identity, dimension=dimension)
    [found] = [model for model in _models(tx) if model.identity == identity]
    return found


def pending(tx: Transaction, model: Model | None, limit: int) -> list[Pending]:
    """Memories without a vector of `model`; those without any come first."""
    rows = tx.all("pending_memories", model=model.id if model else -1, limit=limit)
    return [Pending(row["seq"], row["id"], row["text"]) for row in rows]


def count_pending(tx: Transaction, model: Model | None) -> int:
    return int(tx.value("count_pending", model=model.id if model else -1))


def add(tx: Transaction, model: Model, embedded: Sequence[Embedded]) -> int:
    """Store vectors of memories that still exist; returns how many memories took theirs.

    A memory's text never changes and ids are never reused, so id and place are enough to check.
    """
    taken = 0
    for item in embedded:
        if tx.run("mark_embedded", model=model.id, seq=item.seq, id=item.id) == 0:
            continue  # deleted while the model was thinking
        taken += 1
        tx.many(
            "add_vector",
            [
                {"model": model.id, "memory": item.seq, "passage": number, "data": data}
                for number, data in enumerate(item.passages)
            ],
        )
    return taken


def switch(tx: Transaction, model: Model) -> bool:
    """Let `model` answer and drop the others, if it covers every memory; True when it does."""
    if count_pending(tx, model) > 0:
        return False
    tx.run("activate_model", model=model.id)
    tx.run("drop_other_vectors", model=model.id)
    tx.run("drop_other_models", model=model.id)
    return True


def count(tx: Transaction) -> int:
    """Rows of the mirror: vectors and text index entries together."""
    return int(tx.value("count_vectors")) + int(tx.value("count_indexed"))
