"""Outputs by rules: at most three a tool, the documented first, else concluded from what the tool does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from datagen.catalogue import Catalogue
from datagen.paths.extended_profiles import is_page_mark, wide_profiles
from datagen.paths.infer_outputs import Inference, Inferrer
from datagen.paths.parameter_catalogue import ListedParameter, Listing
from datagen.seams import MAX_OUTPUTS, ToolOutput, ToolOutputs
from datagen.synthetic_request import RejectedRequest
from ingest.linking import GENERIC_NAMES, ProducedValue, ToolProfile, canonical_names
from ontology.tool import Parameter, Tool

__all__ = ["RulesOutputs", "available_parameters", "listing_of"]

_LEAST = 0.5
_DOCUMENTED = 1.0


def listing_of(catalogue: Catalogue, profiles: Mapping[str, ToolProfile]) -> Listing:
    """The fixed list of the catalogue's inputs, with what they take."""
    return Listing(catalogue.tools, profiles, canonical_names(catalogue.ontology))


def available_parameters(catalogue: Catalogue) -> Mapping[str, ListedParameter]:
    """The fixed list from which outputs may be inferred: the exact name of every input → what it is and who takes it."""
    return listing_of(catalogue, wide_profiles(catalogue)).parameters


class RulesOutputs:
    """Finds outputs by rules."""

    name = "rules.v1"

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._profiles = wide_profiles(catalogue)
        self._listing = listing_of(catalogue, self._profiles)
        self._names = canonical_names(catalogue.ontology)
        self._inferrer = Inferrer(self._listing, self._names)

    def find(self) -> ToolOutputs:
        """The outputs of every tool; a tool of which nothing is documented and nothing can be inferred is rejected."""
        found: dict[str, tuple[ToolOutput, ...]] = {}
        rejected = []
        for tool in self._catalogue.tools:
            found[tool.id] = self._outputs(tool, self._profiles[tool.id])
            if not found[tool.id]:
                rejected.append(
                    RejectedRequest(
                        stage="outputs", subject=(tool.id,), reason=_why_none(tool, self._profiles[tool.id])
                    )
                )
        return ToolOutputs(by_tool=found, rejected=tuple(rejected))

    def _outputs(self, tool: Tool, profile: ToolProfile) -> tuple[ToolOutput, ...]:
        documented = list(self._documented(tool, profile))
        if tool.returns:
            gives = {offer.key[0] for offer in profile.produces if offer.output}
            inferred = () if profile.entity in gives else self._inferrer.own(profile)
        else:
            inferred = self._inferrer.silent(tool, profile)
        documented.extend(_kept(tool, inferred, {output.name for output in documented}))
        return tuple(documented[:MAX_OUTPUTS])

    def _documented(self, tool: Tool, profile: ToolProfile) -> Iterator[ToolOutput]:
        """Documented outputs, those that inputs want before others."""
        offers = sorted(
            (offer for offer in profile.produces if offer.output), key=lambda offer: self._worth(offer, profile)
        )
        wanted = dict.fromkeys(offers)
        seen_keys, seen_names = set(), set()
        for offer in wanted:
            if offer.key not in seen_keys and offer.output not in seen_names:
                seen_keys.add(offer.key)
                seen_names.add(offer.output)
                reason = f"documented, and {self._listing.wanted(offer.key)} inputs of the catalogue take it"
                yield _documented(tool, offer.output, reason)
        for output in sorted(tool.returns, key=self._telling):
            if output.name not in seen_names:
                yield _documented(tool, output.name, "documented")

    def _worth(self, offer: ProducedValue, profile: ToolProfile) -> tuple[bool, bool, int, int, str]:
        """Sorts the tool's own identifiers first, then others, then what few want before what many do."""
        identifier = bool(offer.key[0])
        own = identifier and offer.key[0] == profile.entity
        return not own, not identifier, self._listing.wanted(offer.key), offer.output.count("."), offer.output

    def _telling(self, output: Parameter) -> tuple[bool, bool, int]:
        page_mark = is_page_mark(output.name, self._names)
        return page_mark, self._names.canonical(output.name.rsplit(".", 1)[-1]) in GENERIC_NAMES, output.name.count(".")


def _documented(tool: Tool, name: str, reason: str) -> ToolOutput:
    return ToolOutput(tool=tool.id, name=name, confidence=_DOCUMENTED, reason=reason, documented=True)


def _kept(tool: Tool, inferred: Iterable[Inference], known: set[str]) -> Iterator[ToolOutput]:
    """The best inference of each name that is at least weak, the strongest first."""
    for one in sorted(inferred, key=lambda one: (-one.confidence, one.name)):
        if one.name not in known and one.confidence >= _LEAST:
            known.add(one.name)
            yield ToolOutput(
                tool=tool.id, name=one.name, confidence=one.confidence, reason=one.reason, documented=False
            )


def _why_none(tool: Tool, profile: ToolProfile) -> str:
    if profile.action in ("delete", "update"):
        return f"nothing is documented, and what a tool that {profile.action}s leaves behind fills no input"
    return "nothing is documented, and no input of the catalogue is called as what it gives"
