"""What a mount offers, written down once: the list answers and the way from a name to its tool.

It must never touch a database or depend on who asks: one error while listing breaks a connector.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from mcp_types import (
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolAnnotations,
    ToolsCapability,
)
from mcp_types import Resource as ListedResource
from mcp_types import Tool as ListedTool

from rememberd.mcp.envelope import JsonObject
from rememberd.mcp.results import dump
from rememberd.mcp.schemas import schema_of
from rememberd.tools.base import AnyTool, Resource

TTL_MS = 3_600_000  # a catalog changes only with the server's version


class Catalog:
    """Tools in the order given. `resources=None` leaves resources out of the mount altogether."""

    def __init__(
        self,
        tools: Sequence[AnyTool],
        resources: Sequence[Resource] | None = None,
        *,
        prompts: bool = False,
        cache_scope: Literal["public", "private"] = "public",
    ) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.resources = {resource.uri: resource for resource in resources or ()}
        self.hints: JsonObject = {"ttlMs": TTL_MS, "cacheScope": cache_scope}
        self.capabilities = _capabilities(resources is not None, prompts)

    @cached_property
    def lists(self) -> dict[str, JsonObject]:
        """Method to answer. The same object every time, so the same bytes.

        Made when first asked for: schemas are a tenth of what a server does until it answers.
        """
        answers = {"tools/list": dump(ListToolsResult(tools=[*map(_tool, self.tools.values())]))}
        if "resources" in self.capabilities:
            listed = [*map(_resource, self.resources.values())]
            answers["resources/list"] = dump(ListResourcesResult(resources=listed))
            templates = ListResourceTemplatesResult(resource_templates=[])
            answers["resources/templates/list"] = dump(templates)
        if "prompts" in self.capabilities:  # some clients ask before they look at capabilities
            answers["prompts/list"] = dump(ListPromptsResult(prompts=[]))
        return {method: {**answer, **self.hints} for method, answer in answers.items()}


def _capabilities(with_resources: bool, with_prompts: bool) -> JsonObject:
    resources = ResourcesCapability(subscribe=False, list_changed=False)
    return dump(
        ServerCapabilities(
            tools=ToolsCapability(list_changed=False),
            resources=resources if with_resources else None,
            prompts=PromptsCapability(list_changed=False) if with_prompts else None,
        )
    )


def _tool(tool: AnyTool) -> ListedTool:
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.input, "validation"),
        output_schema=schema_of(tool.output, "serialization"),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,  # the specification's own example of a closed world is a memory
        ),
    )


def _resource(resource: Resource) -> ListedResource:
    return ListedResource(
        uri=resource.uri,
        name=resource.name,
        title=resource.title,
        description=resource.description,
        mime_type=resource.mime_type,
    )
