"""Projects and vaults by name, as a person at the command line or in the console sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rememberd.engine.engine import Engine
from rememberd.engine.status import vault_ref
from rememberd.errors import InvalidInput
from rememberd.model import Account, Certificate, Project, Vault, VaultKind
from rememberd.store import control, lifecycle
from rememberd.store.transaction import Transaction

_NAME = re.compile(r"[^\W_](?:[\w .@+-]{0,62}[\w])?")
FIRST = "personal"


@dataclass(frozen=True, slots=True)
class ListedVault:
    """`ref` is what memory_status shows a client, so that a person can tell vaults apart there."""

    vault: Vault
    ref: str
    project: str | None


def check_name(name: str) -> str:
    """Raises InvalidInput for a name that would not survive a terminal or a URL."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "name: 1 to 64 letters, digits, spaces and . @ + - _, starting with a letter or digit.",
            field="name",
        )
    return name


async def create_project(engine: Engine, name: str) -> Project:
    """Raises Conflict, InvalidInput."""
    check_name(name)

    def enter(tx: Transaction) -> Project:
        home = control.local_organization(tx, engine.clock)
        return control.add_project(tx, home.id, name, engine.clock)

    return await engine.store.control.write(enter)


async def list_projects(engine: Engine) -> list[Project]:
    return await engine.store.control.read(control.projects)


async def create_vault(engine: Engine, name: str, project: str | None = None) -> ListedVault:
    """For the command line: the first owner's personal vault, or a project's.

    Raises Conflict, NotFound (project), InvalidInput.
    """
    check_name(name)
    if project is not None:
        project_id = (await _project(engine, project)).id
        vault = await lifecycle.create(
            engine.store, name, kind=VaultKind.PROJECT, project_id=project_id
        )
    else:
        owner = await engine.store.control.read(lambda tx: tx.value("first_owner"))
        vault = await lifecycle.create(engine.store, name, account_id=owner)
    return ListedVault(vault, vault_ref(vault.id), project)


async def create_own(engine: Engine, account: Account, name: str) -> Vault:
    """A personal vault of somebody who is signed in. Raises Conflict, InvalidInput."""
    return await lifecycle.create(engine.store, check_name(name), account_id=account.id)


async def create_shared(engine: Engine, organization_id: str, name: str) -> Vault:
    """A vault that all members of an organization share. Raises Conflict, InvalidInput."""
    return await lifecycle.create(
        engine.store,
        check_name(name),
        kind=VaultKind.ORGANIZATION,
        organization_id=organization_id,
    )


async def _project(engine: Engine, name: str) -> Project:
    def find(tx: Transaction) -> Project:
        home = control.local_organization(tx, engine.clock)
        return control.project_named(tx, home.id, name)

    return await engine.store.control.write(find)


async def list_vaults(engine: Engine) -> list[ListedVault]:
    def look(tx: Transaction) -> list[ListedVault]:
        names = {project.id: project.name for project in control.projects(tx)}
        return [
            ListedVault(vault, vault_ref(vault.id), names.get(vault.project_id or ""))
            for vault in control.vaults(tx)
        ]

    return await engine.store.control.read(look)


async def vault_named(engine: Engine, name: str) -> Vault:
    """By ref or by name. Raises NotFound, or Conflict when a name does not say which."""

    def find(tx: Transaction) -> Vault:
        for vault in control.vaults(tx):
            if vault_ref(vault.id) == name:
                return vault
        home = control.local_organization(tx, engine.clock)
        return control.vault_named(tx, home.id, name)

    return await engine.store.control.write(find)


async def erase_vault(engine: Engine, name: str, actor: str) -> Certificate:
    """Destroy the vault's keys and files, with proof. Raises NotFound."""
    vault = await vault_named(engine, name)
    return await lifecycle.erase(engine.store, vault.id, actor)


async def first_run(engine: Engine) -> Vault | None:
    """Make the vault `personal` when there has never been one; None otherwise."""
    if await engine.store.control.read(lambda tx: tx.value("any_vault")):
        return None
    return (await create_vault(engine, FIRST)).vault
