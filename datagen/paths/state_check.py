"""State checks: a tool that reads the very thing that another one changes, so that the change can depend on its state."""

from __future__ import annotations

from datagen.extended_profiles import only_reads
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_path import PathEdge
from ingest.linking import ToolProfile

__all__ = ["state_check"]

_Key = tuple[str, str]


def state_check(catalogue: ProfiledCatalogue, source: str, target: str) -> PathEdge | None:
    """Return the edge from the tool that reads a thing to the one that changes it; None where they are no such pair.

    Both require the same identifiers, which the request states, and the first documents that of the thing among its
    outputs. So nothing but a condition makes the second follow the first, and the graph of what feeds what has no such edge.
    """
    first, second = catalogue.extended_profiles[source], catalogue.extended_profiles[target]
    if first.action != "get" or not only_reads(first) or only_reads(second) or second.action == "create":
        return None
    if not first.entity or (first.entity, first.system) != (second.entity, second.system):
        return None
    taken, inputs = _required(first), _required(second)
    if not inputs or set(taken.values()) != set(inputs.values()):
        return None
    own = next((name for name, key in inputs.items() if key[0] == first.entity), "")
    outputs = {
        catalogue.names.canonical(one.name.rpartition(".")[2]): one.name for one in catalogue.tool(source).returns
    }
    output = outputs.get(catalogue.names.canonical(own)) or outputs.get("id") if own else None
    if output is None or "[]" in output:
        return None
    return PathEdge(
        kind="R-P",
        source=source,
        target=target,
        output=output,
        parameter=own,
        confidence=1.0,
        reason=f"the second works on the {first.entity} whose state the first gives",
    )


def _required(profile: ToolProfile) -> dict[str, _Key]:
    """The identifiers that a tool requires."""
    return {
        value.parameter: value.key
        for value in profile.consumes
        if value.required and value.identifier and not value.context
    }
