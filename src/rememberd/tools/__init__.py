"""The toolsets: what each MCP mount offers, in the order that clients see."""

from __future__ import annotations

from dataclasses import dataclass

from rememberd.tools import vault
from rememberd.tools.base import AnyTool, Resource


@dataclass(frozen=True, slots=True)
class Toolset:
    """What one mount offers, and how a model is told to use it."""

    name: str
    path: str
    tools: tuple[AnyTool, ...]
    resources: tuple[Resource, ...]
    instructions: str


VAULT = Toolset("vault", "/mcp", vault.TOOLS, vault.RESOURCES, vault.INSTRUCTIONS)
TOOLSETS = (VAULT,)
