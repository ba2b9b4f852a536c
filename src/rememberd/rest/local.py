"""The owner's interface on the local socket: projects, vaults, keys, diagnosis, as JSON.

Whoever can open the socket (mode 0600) owns the data directory, so there is no other check here.
These routes must never be mounted on a network address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from rememberd.auth.accounts import Accounts
from rememberd.auth.principals import COMMAND_LINE, Keys, NewKey
from rememberd.auth.project_members import ProjectMembers
from rememberd.auth.scopes import ordered
from rememberd.clock import isoformat
from rememberd.engine import audit, diagnosis, vaults
from rememberd.engine.engine import Engine
from rememberd.engine.vaults import ListedVault
from rememberd.errors import DataDirectoryBusy, InvalidInput
from rememberd.model import Certificate, Project, Role
from rememberd.store import control, key_exports
from rememberd.store.accounts import Member, WaysIn
from rememberd.store.control import ListedKey


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


T = TypeVar("T", bound=_Body)


class NewProject(_Body):
    name: str


class NewProjectMember(_Body):
    email: str
    role: Role


class NewVault(_Body):
    name: str
    project: str | None = None


class NewKeyBody(_Body):
    vault: str
    read_only: bool = False
    scopes: list[str] = []
    name: str = ""


class Passphrase(_Body):
    passphrase: str


class KeyImport(_Body):
    passphrase: str
    text: str


class LostAccount(_Body):
    email: str


class FirstAccount(_Body):
    email: str
    name: str = ""
    password: str


async def _read(request: Request, shape: type[T]) -> T:
    """The body as one of the shapes above. Raises InvalidInput naming the field."""
    try:
        return shape.model_validate(json.loads(await request.body()))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{field}: {first['msg']}.", field=field) from None
    except ValueError:
        raise InvalidInput("The body must be JSON.") from None


class LocalInterface:
    """One method per route; `http/routes.py` says which."""

    def __init__(
        self,
        engine: Engine,
        keys: Keys,
        accounts: Accounts,
        facts: Mapping[str, Any],
        documents: Mapping[str, Response],
        leave: Callable[[], None] | None = None,
    ) -> None:
        self._engine = engine
        self._keys = keys
        self._accounts = accounts
        self._project_members = ProjectMembers(engine.store, engine.clock)
        self._facts = dict(facts)
        self._documents = documents
        self._leave = leave

    # -- the owner -------------------------------------------------------------------------------

    async def owner(self, _: Request) -> JSONResponse:
        """Who owns the data directory: a server or a passing command."""
        return JSONResponse(self._facts)

    async def leave(self, _: Request) -> JSONResponse:
        """A passing owner makes room for a server. Raises DataDirectoryBusy when this is one."""
        if self._leave is None:
            raise DataDirectoryBusy(
                f"A server runs on {self._engine.store.directory.root} already (process "
                f"{self._facts['pid']}, {self._facts['public_url']}). Stop it, or use --data for "
                "another directory."
            )
        self._leave()
        return JSONResponse(self._facts, 202)

    # -- the first account -------------------------------------------------------------------------

    async def setup_link(self, _: Request) -> JSONResponse:
        """A fresh one-time link; null once an account exists."""
        token = await self._accounts.setup_link()
        link = f"{self._engine.public_url}/setup?token={token}" if token else None
        return JSONResponse({"setup_link": link})

    async def set_up(self, request: Request) -> JSONResponse:
        body = await _read(request, FirstAccount)
        made = await self._accounts.set_up(body.email, body.name, body.password)
        codes = list(made.recovery_codes)
        return JSONResponse({"email": made.account.email, "recovery_codes": codes}, 201)

    # -- accounts ----------------------------------------------------------------------------------

    async def list_accounts(self, _: Request) -> JSONResponse:
        return JSONResponse(
            {"accounts": [_account(one) for one in await self._accounts.everybody()]}
        )

    async def recover_account(self, request: Request) -> JSONResponse:
        """New recovery codes, and the page that takes one."""
        body = await _read(request, LostAccount)
        found = await self._accounts.let_back_in(body.email)
        return JSONResponse(
            {
                "email": found.account.email,
                "recovery_codes": list(found.recovery_codes),
                "recovery_page": f"{self._engine.public_url}/sign-in/recovery",
            }
        )

    # -- projects and vaults -----------------------------------------------------------------------

    async def list_projects(self, _: Request) -> JSONResponse:
        found = await vaults.list_projects(self._engine)
        return JSONResponse({"projects": [_project(project) for project in found]})

    async def create_project(self, request: Request) -> JSONResponse:
        body = await _read(request, NewProject)
        return JSONResponse(_project(await vaults.create_project(self._engine, body.name)), 201)

    async def list_project_members(self, request: Request) -> JSONResponse:
        found = await self._project_members.list(request.path_params["name"])
        return JSONResponse({"members": [_member(one) for one in found]})

    async def add_project_member(self, request: Request) -> JSONResponse:
        """Also how a role is changed."""
        body, project = await _read(request, NewProjectMember), request.path_params["name"]
        return JSONResponse(
            _member(await self._project_members.add(project, body.email, body.role))
        )

    async def remove_project_member(self, request: Request) -> JSONResponse:
        named = request.path_params
        return JSONResponse(
            _member(await self._project_members.remove(named["name"], named["email"]))
        )

    async def list_vaults(self, _: Request) -> JSONResponse:
        found = await vaults.list_vaults(self._engine)
        return JSONResponse({"vaults": [_vault(vault) for vault in found]})

    async def create_vault(self, request: Request) -> JSONResponse:
        body = await _read(request, NewVault)
        made = await vaults.create_vault(self._engine, body.name, body.project)
        return JSONResponse(_vault(made), 201)

    async def erase_vault(self, request: Request) -> JSONResponse:
        proof = await vaults.erase_vault(self._engine, request.path_params["name"], COMMAND_LINE)
        return JSONResponse(_certificate(proof))

    # -- keys --------------------------------------------------------------------------------------

    async def list_keys(self, _: Request) -> JSONResponse:
        return JSONResponse({"keys": [_key(listed) for listed in await self._keys.list()]})

    async def create_key(self, request: Request) -> JSONResponse:
        body = await _read(request, NewKeyBody)
        vault = await vaults.vault_named(self._engine, body.vault)
        made = await self._keys.create(
            vault.id, read_only=body.read_only, scope_names=body.scopes, name=body.name
        )
        return JSONResponse(_new_key(made, body.vault), 201)

    async def revoke_key(self, request: Request) -> JSONResponse:
        return JSONResponse(_key(await self._keys.revoke(request.path_params["id"])))

    # -- the key store -----------------------------------------------------------------------------

    async def export_keys(self, request: Request) -> JSONResponse:
        body = await _read(request, Passphrase)
        text = await key_exports.export_keys(self._engine.store, body.passphrase)
        return JSONResponse({"text": text})

    async def import_keys(self, request: Request) -> JSONResponse:
        body = await _read(request, KeyImport)
        done = await key_exports.import_keys(self._engine.store, body.text, body.passphrase)
        return JSONResponse(asdict(done))

    # -- the audit chains --------------------------------------------------------------------------

    async def verify_audit(self, _: Request) -> JSONResponse:
        reports = await audit.verify(self._engine)
        return JSONResponse({"chains": [asdict(report) for report in reports]})

    async def list_audit(self, request: Request) -> JSONResponse:
        asked = request.query_params
        limit, before = int(asked["limit"]), asked.get("before")
        rows = await audit.newest(
            self._engine, asked.get("vault"), limit, int(before) if before else None
        )
        entries = [asdict(row) | {"at": isoformat(row.at)} for row in rows]
        return JSONResponse({"entries": entries, "names": await audit.names(self._engine)})

    # -- diagnosis ---------------------------------------------------------------------------------

    async def diagnose(self, _: Request) -> JSONResponse:
        checks = await diagnosis.diagnose(self._engine)
        return JSONResponse({"checks": [asdict(check) for check in checks]})

    async def discovery(self, _: Request) -> JSONResponse:
        """What clients are to find at each path, for the doctor to compare."""
        found = [_document(path, sent) for path, sent in self._documents.items()]
        return JSONResponse({"documents": found})

    async def certificate(self, request: Request) -> JSONResponse:
        wanted = request.path_params["id"]
        store = self._engine.store
        return JSONResponse(await store.control.read(lambda tx: control.certificate(tx, wanted)))


def _account(one: WaysIn) -> dict[str, Any]:
    return {
        "id": one.account.id,
        "email": one.account.email,
        "name": one.account.name,
        "created_at": isoformat(one.account.created_at),
        "disabled": one.is_disabled,
        "password": one.account.has_password,
        "passkeys": one.passkeys,
        "recovery_codes": one.recovery_codes,
    }


def _project(project: Project) -> dict[str, Any]:
    return {"id": project.id, "name": project.name, "created_at": isoformat(project.created_at)}


def _member(one: Member) -> dict[str, Any]:
    return {"account_id": one.account_id, "email": one.email, "name": one.name, "role": one.role}


def _vault(listed: ListedVault) -> dict[str, Any]:
    vault = listed.vault
    return {
        "id": vault.id,
        "name": vault.name,
        "kind": vault.kind.value,
        "project": listed.project,
        "ref": listed.ref,
        "status": vault.status.value,
        "created_at": isoformat(vault.created_at),
    }


def _key(listed: ListedKey) -> dict[str, Any]:
    key = listed.key
    return {
        "id": key.id,
        "name": key.name,
        "vault": listed.vault_name,
        "hint": key.hint,
        "scopes": ordered(key.scopes),
        "created_at": isoformat(key.created_at),
        "last_used_at": isoformat(key.last_used_at) if key.last_used_at else None,
        "revoked_at": isoformat(key.revoked_at) if key.revoked_at else None,
    }


def _new_key(made: NewKey, vault: str) -> dict[str, Any]:
    return {
        "id": made.key.id,
        "key": made.secret,
        "vault": vault,
        "name": made.key.name,
        "scopes": ordered(made.key.scopes),
    }


def _document(path: str, sent: Response) -> dict[str, Any]:
    return {"path": path, "type": sent.headers["content-type"], "body": bytes(sent.body).decode()}


def _certificate(proof: Certificate) -> dict[str, Any]:
    return asdict(proof) | {"issued_at": isoformat(proof.issued_at)}
