"""One `tools/call`, in the order that keeps the promises: tool, scope, confirmation, schema, run.

A call that fails a step must never reach the next: without the scope nothing is validated, and
without the phrase nothing is deleted.
"""

from __future__ import annotations

from typing import Any, cast

from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from rememberd.auth import roles
from rememberd.errors import (
    ConfirmationMissing,
    Denied,
    InvalidInput,
    RememberdError,
    ScopeMissing,
)
from rememberd.mcp import results
from rememberd.mcp.catalog import Catalog
from rememberd.mcp.envelope import JsonObject, RpcError
from rememberd.mcp.schemas import explain
from rememberd.model import Principal
from rememberd.tools.base import AnyTool, Arguments


async def call_tool(
    catalog: Catalog,
    engine: Any,
    principal: Principal,
    params: JsonObject,
    resource_metadata: str,
) -> JsonObject:
    """The result of the call. Raises RpcError -32602 for an unknown tool or bad arguments."""
    tool = _tool(catalog, params.get("name"))
    arguments = _arguments(params)
    try:
        check_scope(tool.scope, principal)
        _check_confirmation(tool, arguments)
        output = await tool.run(engine, principal, _validated(tool, arguments))
    except InvalidInput as error:
        raise _invalid(tool, error.message) from None
    except RpcError:
        raise
    except RememberdError as error:
        return results.failure(error, resource_metadata)
    return results.success(output)


def _tool(catalog: Catalog, name: object) -> AnyTool:
    if not isinstance(name, str):
        raise RpcError(INVALID_PARAMS, "params.name must be a string.")
    tool = catalog.tools.get(name)
    if tool is None:
        known = ", ".join(catalog.tools)
        raise RpcError(INVALID_PARAMS, f"Unknown tool. The tools here are {known}.")
    return tool


def _arguments(params: JsonObject) -> object:
    """Absent and null are no arguments: several clients send null for a tool that takes none."""
    given = params.get("arguments")
    return JsonObject() if given is None else given


def check_scope(scope: str, principal: Principal) -> None:
    """Raises ScopeMissing, which says how whoever asks can come by the scope."""
    if scope in principal.scopes:
        return
    if scope not in roles.scopes_of(principal.role):
        # Nobody is sent through sign-in for what their role would not allow after it either.
        raise Denied(
            f"Your role in this vault is {principal.role}, which does not include {scope}. Nothing "
            "was done. An owner of the vault can change your role."
        )
    raise ScopeMissing(scope, principal.scopes, is_key=principal.grant_id is None)


def _check_confirmation(tool: AnyTool, arguments: object) -> None:
    """Before the schema, so that a half-formed delete says what matters: nothing was deleted."""
    if tool.confirmation is None:
        return
    given = cast(JsonObject, arguments).get("confirmation") if isinstance(arguments, dict) else None
    if given != tool.confirmation:
        raise ConfirmationMissing(
            "Deletion was not performed: nothing was deleted. Show the user what would be deleted; "
            f'if they agree, call again with confirmation set to exactly "{tool.confirmation}".'
        )


def _validated(tool: AnyTool, arguments: object) -> Arguments:
    if not isinstance(arguments, dict):
        raise _invalid(tool, "arguments must be an object")
    try:
        return tool.input.model_validate(arguments)
    except ValidationError as error:
        raise _invalid(tool, explain(error)) from None


def _invalid(tool: AnyTool, why: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Invalid arguments for {tool.name}: {why.rstrip('.')}.")
