"""What the owners of the tools can improve in their documents, by namespace; found in the tools alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ingest.duplicate_tools import near_duplicates
from ontology.tool import Tool

__all__ = ["NamespaceHealth", "catalog_health"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceHealth:
    """The tools of one namespace that need their owner. Tools are given by their ids, sorted.

    :param owner: of the source, or empty.
    :param tools: number of all tools.
    :param without_outputs: tools whose document names no field of the answer; what deletes needs none.
    :param near_duplicates: groups of tools that their documents hardly tell apart.
    :param cut: tools of which a text was too long or a schema too large or too deep to keep whole.
    """

    namespace: str
    owner: str = ""
    tools: int
    without_description: tuple[str, ...] = ()
    without_outputs: tuple[str, ...] = ()
    near_duplicates: tuple[tuple[str, ...], ...] = ()
    deprecated: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


def catalog_health(tools: Iterable[Tool]) -> tuple[NamespaceHealth, ...]:
    """Return the health of each namespace, sorted by namespace. Time is linear in the tools."""
    by_namespace: defaultdict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        by_namespace[tool.namespace].append(tool)
    return tuple(_health(namespace, found) for namespace, found in sorted(by_namespace.items()))


def _health(namespace: str, tools: Sequence[Tool]) -> NamespaceHealth:
    def ids(holds: Callable[[Tool], bool]) -> tuple[str, ...]:
        return tuple(sorted(tool.id for tool in tools if holds(tool)))

    owner = next((str(tool.metadata["owner"]) for tool in tools if tool.metadata.get("owner")), "")
    return NamespaceHealth(
        namespace=namespace,
        owner=owner,
        tools=len(tools),
        without_description=ids(lambda tool: not tool.description.strip()),
        without_outputs=ids(lambda tool: not tool.returns and not _deletes(tool)),
        near_duplicates=near_duplicates(tools),
        deprecated=ids(lambda tool: tool.metadata.get("deprecated") is True),
        cut=ids(lambda tool: bool(tool.metadata.get("cut"))),
    )


def _deletes(tool: Tool) -> bool:
    """Whether a successful call has nothing to answer."""
    return tool.call is not None and tool.call.method == "DELETE"
