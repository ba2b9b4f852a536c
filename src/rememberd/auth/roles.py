"""Which role an account has in a vault, and what a role may do. Pure.

A grant never reaches further than the role behind it: effective scopes = grant ∩ role, looked at
anew on every call, so access ends when membership ends.
"""

from __future__ import annotations

from rememberd.model import DELETE, READ, REFLECT, WRITE, Role, VaultKind
from rememberd.store.oauth import Standing

ORDER: tuple[Role, ...] = ("reader", "editor", "owner")

_SCOPES: dict[Role, frozenset[str]] = {
    "owner": frozenset({READ, WRITE, DELETE, REFLECT}),
    "editor": frozenset({READ, WRITE, DELETE, REFLECT}),
    "reader": frozenset({READ}),
}


def scopes_of(role: Role | None) -> frozenset[str]:
    """The most that a role allows; no role, no access."""
    return _SCOPES[role] if role else frozenset()


def role_in_vault(
    kind: VaultKind,
    *,
    is_own: bool,
    organization_role: Role | None,
    project_role: Role | None,
) -> Role | None:
    """A personal vault is its owner's alone; an organization's follows membership; a project's
    follows project membership, and owners of the organization own its projects.
    """
    if kind is VaultKind.PERSONAL:
        return "owner" if is_own else None
    if kind is VaultKind.ORGANIZATION:
        return organization_role
    if kind is VaultKind.PROJECT:
        return "owner" if organization_role == "owner" else project_role
    return None


def role_of(standing: Standing) -> Role | None:
    """None where the account may not open the vault, or nobody may."""
    if not standing.is_open:
        return None
    return role_in_vault(
        standing.kind,
        is_own=standing.is_own,
        organization_role=standing.organization_role,
        project_role=standing.project_role,
    )


def may_forget_all(role: Role) -> bool:
    """Only owners empty or erase a vault."""
    return role == "owner"
