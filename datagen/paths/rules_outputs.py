"""Outputs by rules: at most three a tool, the documented first, else those inferred from what the tool does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from datagen.extended_profiles import is_paging
from datagen.interfaces import MAX_OUTPUTS, ToolOutput, ToolOutputs
from datagen.paths.infer_outputs import InferredOutput, OutputInferrer
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import RejectedRequest
from ingest.linking import GENERIC_NAMES, ProducedValue, ToolProfile
from ontology.tool import Parameter, Tool

__all__ = ["RulesOutputs"]

_MIN_CONFIDENCE = 0.5  # of an inferred output


class RulesOutputs:
    """Finds outputs by rules."""

    name = "rules.v1"

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        self._inferrer = OutputInferrer(catalogue.parameter_index, catalogue.names)

    def find(self) -> ToolOutputs:
        """The outputs of every tool; a tool of which nothing is documented and nothing can be inferred is rejected."""
        profiles = self._catalogue.extended_profiles
        found = {tool.id: self._outputs(tool, profiles[tool.id]) for tool in self._catalogue.tools}
        rejected = (
            RejectedRequest(stage="outputs", subject=(tool,), reason=_why_none(profiles[tool]))
            for tool, outputs in found.items()
            if not outputs
        )
        return ToolOutputs(by_tool=found, rejected=tuple(rejected))

    def _outputs(self, tool: Tool, profile: ToolProfile) -> tuple[ToolOutput, ...]:
        documented = list(self._documented(tool, profile))
        inferred: Iterable[InferredOutput] = ()
        if not tool.returns:
            inferred = self._inferrer.infer_all(tool, profile)
        elif profile.entity not in {value.key[0] for value in profile.produces if value.output}:
            inferred = self._inferrer.infer_own(profile)
        known = {output.name for output in documented}
        return (*documented, *_likely(tool, inferred, known))[:MAX_OUTPUTS]

    def _documented(self, tool: Tool, profile: ToolProfile) -> Iterator[ToolOutput]:
        """Documented outputs, those that inputs take before others."""
        index = self._catalogue.parameter_index
        keys, names = set(), set()
        for value in sorted((one for one in profile.produces if one.output), key=lambda one: self._rank(one, profile)):
            if value.key not in keys and value.output not in names:
                keys.add(value.key)
                names.add(value.output)
                reason = f"documented, and {index.demand(value.key)} inputs of the catalogue take it"
                yield _documented(tool, value.output, reason)
        for output in sorted(tool.returns, key=self._rank_unlinked):
            if output.name not in names:
                yield _documented(tool, output.name, "documented")

    def _rank(self, value: ProducedValue, profile: ToolProfile) -> tuple[bool, bool, int, int, str]:
        """The tool's own identifiers first, then others, then what few inputs take before what many do."""
        identifier = bool(value.key[0])
        own = identifier and value.key[0] == profile.entity
        demand = self._catalogue.parameter_index.demand(value.key)
        return not own, not identifier, demand, value.output.count("."), value.output

    def _rank_unlinked(self, output: Parameter) -> tuple[bool, bool, int]:
        """Outputs with a name of their own first, those that page through a list last."""
        names = self._catalogue.names
        generic = names.canonical(output.name.rsplit(".", 1)[-1]) in GENERIC_NAMES
        return is_paging(output.name, names), generic, output.name.count(".")


def _documented(tool: Tool, name: str, reason: str) -> ToolOutput:
    return ToolOutput(tool=tool.id, name=name, confidence=1.0, reason=reason, documented=True)


def _likely(tool: Tool, inferred: Iterable[InferredOutput], known: set[str]) -> Iterator[ToolOutput]:
    """The best inference of each new name that is likely enough, the most likely first."""
    for one in sorted(inferred, key=lambda one: (-one.confidence, one.name)):
        if one.name not in known and one.confidence >= _MIN_CONFIDENCE:
            known.add(one.name)
            yield ToolOutput(
                tool=tool.id, name=one.name, confidence=one.confidence, reason=one.reason, documented=False
            )


def _why_none(profile: ToolProfile) -> str:
    if profile.action in ("delete", "update"):
        return f"nothing is documented, and what a tool that {profile.action}s leaves behind fills no input"
    return "nothing is documented, and no input of the catalogue is called as what it gives"
