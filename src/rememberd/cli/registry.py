"""Verbs for what the owner keeps: projects, vaults and keys."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rememberd.cli import options, output
from rememberd.cli.options import AsJson, Data, VaultName, Yes
from rememberd.cli.owner import Owner, ask_owner

projects = typer.Typer(no_args_is_help=True, help="Projects: what vaults can be grouped under.")
vaults = typer.Typer(no_args_is_help=True, help="Vaults: each is one encrypted file of its own.")
keys = typer.Typer(no_args_is_help=True, help="Keys: what an app shows to reach one vault.")

Name = Annotated[str, typer.Argument(help="Its name.", show_default=False)]
Email = Annotated[
    str, typer.Argument(help="The account's email.", metavar="EMAIL", show_default=False)
]


# --- projects ----------------------------------------------------------------------------------


@projects.command("list")
def list_projects(context: typer.Context, as_json: AsJson = False, data: Data = None) -> None:
    """List the projects.

    Example: rememberd project list
    """
    found = ask_owner(options.load(context, data), lambda owner: owner.get("/projects"))
    if as_json:
        return output.document(found)
    rows = [(row["name"], row["created_at"][:10]) for row in found["projects"]]
    output.table(("project", "since"), rows)


@projects.command("create")
def create_project(
    context: typer.Context, name: Name, as_json: AsJson = False, data: Data = None
) -> None:
    """Make a project.

    Example: rememberd project create atlas
    """
    made = ask_owner(
        options.load(context, data), lambda owner: owner.post("/projects", {"name": name})
    )
    if as_json:
        return output.document(made)
    output.result("Made project", output.bold(made["name"]))


@projects.command("members")
def list_members(
    context: typer.Context, name: Name, as_json: AsJson = False, data: Data = None
) -> None:
    """List who may use a project's vaults, beside the organization's owners, who always may.

    Example: rememberd project members atlas
    """
    found = ask_owner(options.load(context, data), lambda owner: owner.get(_members(name)))
    if as_json:
        return output.document(found)
    rows = [(row["email"], row["name"], row["role"]) for row in found["members"]]
    output.table(("account", "name", "role"), rows)


@projects.command("add")
def add_member(
    context: typer.Context,
    name: Name,
    email: Email,
    role: Annotated[
        Literal["owner", "editor", "reader"], typer.Option("--role", help="What they may do.")
    ] = "reader",
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Let an account use a project's vaults, or change the role that it has there.

    Example: rememberd project add atlas bob@example.com --role editor
    """
    body = {"email": email, "role": role}
    settings = options.load(context, data)
    member = ask_owner(settings, lambda owner: owner.post(_members(name), body))
    if as_json:
        return output.document(member)
    output.result("In the project", output.bold(name), "as", f"{role}:", member["email"])


@projects.command("remove")
def remove_member(
    context: typer.Context, name: Name, email: Email, as_json: AsJson = False, data: Data = None
) -> None:
    """Take an account out of a project. Its apps' access to the vaults there ends at once.

    Example: rememberd project remove atlas bob@example.com
    """
    path = f"{_members(name)}/{options.segment(email)}"
    member = ask_owner(options.load(context, data), lambda owner: owner.delete(path))
    if as_json:
        return output.document(member)
    output.result("Removed from the project", output.bold(f"{name}:"), member["email"])


def _members(project: str) -> str:
    return f"/projects/{options.segment(project)}/members"


# --- vaults ------------------------------------------------------------------------------------


@vaults.command("list")
def list_vaults(context: typer.Context, as_json: AsJson = False, data: Data = None) -> None:
    """List the vaults. `ref` is what an app's memory_status shows as vaultRef.

    Example: rememberd vault list
    """
    found = ask_owner(options.load(context, data), lambda owner: owner.get("/vaults"))
    if as_json:
        return output.document(found)
    rows = [
        (row["name"], row["ref"], row["project"] or row["kind"], row["created_at"][:10])
        for row in found["vaults"]
    ]
    output.table(("vault", "ref", "project or kind", "since"), rows)


@vaults.command("create")
def create_vault(
    context: typer.Context,
    name: Name,
    project: Annotated[
        str | None, typer.Option("--project", help="Project it belongs to.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Make a vault, encrypted under a key of its own.

    Example: rememberd vault create work --project atlas
    """
    body = {"name": name, "project": project}
    made = ask_owner(options.load(context, data), lambda owner: owner.post("/vaults", body))
    if as_json:
        return output.document(made)
    output.result("Made vault", output.bold(made["name"]), output.dim(made["ref"]))


@vaults.command("erase")
def erase_vault(
    context: typer.Context, name: Name, yes: Yes = False, as_json: AsJson = False, data: Data = None
) -> None:
    """Erase a vault for good: its key is destroyed, its file unlinked, its app keys revoked.

    Example: rememberd vault erase work
    """
    settings = options.load(context, data)
    ask_owner(settings, lambda owner: options.require_vault(owner, name))
    output.require_yes(yes=yes, question="There is no way back.", word=name)
    proof = ask_owner(settings, lambda owner: owner.delete(f"/vaults/{options.segment(name)}"))
    if as_json:
        return output.document(proof)
    output.result("Erased vault", output.bold(name))
    output.certificate(proof)


# --- keys --------------------------------------------------------------------------------------


@keys.command("create")
def create_key(
    context: typer.Context,
    vault: VaultName = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="A key that cannot write.")
    ] = False,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help="read, write, delete or reflect; repeat for several. Default: read and write.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="To tell it apart, such as laptop.")] = "",
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Make a key for one app. It is shown this once; only its hash is kept.

    Example: rememberd key create --vault personal --name laptop
    """

    async def make(owner: Owner) -> dict[str, str]:
        body = {
            "vault": await options.choose_vault(owner, vault),
            "read_only": read_only,
            "scopes": scope or [],
            "name": name,
        }
        made = await owner.post("/keys", body)
        return made | {"public_url": (await owner.get("/owner"))["public_url"]}

    made = ask_owner(options.load(context, data), make)
    if as_json:
        return output.document({name: made[name] for name in made if name != "public_url"})
    scopes = output.scopes(made["scopes"])
    output.note(output.dim(f"Key for the vault {made['vault']} ({scopes}), shown this once:"))
    output.result(output.bold(made["key"]))
    output.note(output.dim("Give it to an app, for example:"))
    output.note(output.claude_line(made["public_url"], made["key"]))


@keys.command("list")
def list_keys(context: typer.Context, as_json: AsJson = False, data: Data = None) -> None:
    """List the keys, revoked ones included. The secret itself is never shown again.

    Example: rememberd key list
    """
    found = ask_owner(options.load(context, data), lambda owner: owner.get("/keys"))
    if as_json:
        return output.document(found)
    rows = [
        (
            row["id"],
            row["name"],
            row["vault"],
            row["hint"],
            output.scopes(row["scopes"]),
            "revoked" if row["revoked_at"] else (row["last_used_at"] or "never used")[:10],
        )
        for row in found["keys"]
    ]
    output.table(("id", "name", "vault", "key", "scopes", "last use"), rows)


@keys.command("revoke")
def revoke_key(
    context: typer.Context,
    key_id: Annotated[str, typer.Argument(help="Its id, as `key list` shows it.", metavar="ID")],
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Revoke a key. It stops working at once.

    Example: rememberd key revoke key_0192…
    """
    gone = ask_owner(
        options.load(context, data),
        lambda owner: owner.delete(f"/keys/{options.segment(key_id)}"),
    )
    if as_json:
        return output.document(gone)
    output.result("Revoked key", output.bold(gone["name"]), output.dim(gone["hint"]))
