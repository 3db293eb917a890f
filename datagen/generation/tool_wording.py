"""The wording of the tools of one catalogue: what people say for each, or why they say nothing."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property

from datagen.generation.data_files import read_data
from datagen.generation.lexicon import load_lexicon
from datagen.generation.phrases import References
from datagen.generation.realisation import Realisation, realise
from datagen.generation.sampler import Sampler
from datagen.generation.system_names import system_name
from datagen.generation.tool_frame import GenerationError, ToolFrame, parse_tool
from datagen.profiled_catalogue import ProfiledCatalogue

__all__ = ["ToolWording"]

_REASONS = read_data("statements")["reasons"]


class ToolWording:
    """Words each tool of a catalogue; a tool is parsed when it is first asked for, and once."""

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        self.lexicon = load_lexicon().for_things({profile.entity for profile in catalogue.profiles.values()})
        self._frames: dict[str, ToolFrame | GenerationError] = {}

    def frame(self, tool: str) -> ToolFrame:
        """The frame of a tool.

        :raises GenerationError: when people have no plain words for it; its text is the reason.
        :raises NotFoundError: for a tool that the catalogue does not have.
        """
        if tool not in self._frames:
            try:
                parsed = parse_tool(self._catalogue, tool, self.lexicon, self._system(tool))
                if self._is_open(parsed):
                    raise GenerationError(_REASONS["no_one"])
                self._frames[tool] = parsed
            except GenerationError as error:
                self._frames[tool] = error.with_traceback(None)
        found = self._frames[tool]
        if isinstance(found, GenerationError):
            raise found
        return found

    def reason(self, tool: str) -> str:
        """Why a tool has no wording, without a full stop; empty where it has one.

        :raises NotFoundError: for a tool that the catalogue does not have.
        """
        try:
            self.frame(tool)
        except GenerationError as error:
            return str(error)
        return ""

    def left_out(self) -> Mapping[str, int]:
        """Reason → number of the catalogue's tools without a wording, the most frequent reason first."""
        reasons = Counter(reason for tool in self._catalogue.tools if (reason := self.reason(tool.id)))
        return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))

    def order(
        self, tool: str, sampler: Sampler, references: References | None = None, *, minimal: bool = True
    ) -> Realisation:
        """One request for a tool as an order, as questions and as a noun phrase; its values are in ``sampler.values``.

        :param references: input → what stands in its place (``it``, ``that user``), of inputs that another step fills.
        :param minimal: without optional values.
        :raises GenerationError: when there are no plain words for it.
        """
        return realise(self.frame(tool), references or {}, sampler, minimal=minimal)

    def sampler(self, *key: str, verbose: bool = False) -> Sampler:
        """A sampler whose choices depend on the key alone."""
        digest = hashlib.sha256("\n".join(key).encode()).digest()
        return Sampler(rng=random.Random(int.from_bytes(digest[:8], "big")), lexicon=self.lexicon, verbose=verbose)

    def alike(self, tool: str) -> tuple[str, ...]:
        """The other tools of its system that are said in the same way: the same action on the same thing of the same owner.

        :raises GenerationError: when the tool has no wording.
        """
        mine, profile = self.frame(tool), self._catalogue.profile(tool)
        head = mine.noun.key.split()[-1]
        candidates = self._by_head.get((self._catalogue.tool(tool).namespace, head), ())
        return (
            tuple(one for one in candidates if one != tool and not self.reason(one) and _same(mine, self.frame(one)))
            if profile
            else ()
        )

    def _is_open(self, frame: ToolFrame) -> bool:
        """Whether nothing says which one is meant of things that other tools of its system list or make."""
        whole = frame.identity is None and frame.owner is None and not frame.own and not frame.arguments
        if frame.many or frame.kind == "create" or not whole or not frame.is_general:
            return False
        return (frame.namespace, self._catalogue.profile(frame.tool).entity) in self._listed

    @cached_property
    def _listed(self) -> frozenset[tuple[str, str]]:
        profiles = ((tool, self._catalogue.profile(tool.id)) for tool in self._catalogue.tools)
        return frozenset(
            (tool.namespace, profile.entity)
            for tool, profile in profiles
            if profile.action in ("list", "search", "create")
        )

    def _system(self, tool: str) -> str:
        """The name of the system, where another system does the same to a thing of the same name; else empty."""
        profile = self._catalogue.profile(tool)
        others = self._systems_of.get((profile.action, profile.entity), frozenset())
        return system_name(self._catalogue.tool(tool)) if len(others) > 1 else ""

    @cached_property
    def _systems_of(self) -> Mapping[tuple[str, str], frozenset[str]]:
        found: dict[tuple[str, str], set[str]] = defaultdict(set)
        for tool in self._catalogue.tools:
            profile = self._catalogue.profile(tool.id)
            found[profile.action, profile.entity].add(tool.namespace)
        return {key: frozenset(names) for key, names in found.items()}

    @cached_property
    def _by_head(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for tool in self._catalogue.tools:
            for entity in dict.fromkeys(self._catalogue.profile(tool.id).entities):
                head = entity.split()[-1:]
                if head:
                    found[tool.namespace, head[0]].append(tool.id)
        return {key: tuple(dict.fromkeys(tools)) for key, tools in found.items()}


def _same(one: ToolFrame, other: ToolFrame) -> bool:
    """Whether two frames give the same requests."""
    owners = [frame.owner_noun.key if frame.owner_noun is not None else "" for frame in (one, other)]
    things = [(frame.kind, frame.phrases, frame.noun.key, frame.own) for frame in (one, other)]
    return things[0] == things[1] and owners[0] == owners[1]
