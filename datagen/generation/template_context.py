"""The context of a template: the input for the text of one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from datagen.generation.coreference import is_same_thing
from datagen.generation.data_files import word_classes
from datagen.generation.general_questions import GeneralQuestions
from datagen.generation.sampler import Sampler
from datagen.generation.tool_frame import GenerationError, ToolFrame, is_same, is_value
from datagen.tool_path import PathEdge, ToolPath

__all__ = ["UNDO_VERBS", "TemplateContext"]

UNDO_VERBS = word_classes("coreference")["undo_verbs"]
_FOLLOW_UP = word_classes("coreference")["follow_up_verbs"]
_MAX_STEPS = 3
"""At most so many steps that depend on each other stand in one text. Of chains of four and five, readers of four catalogues
understood none."""
_MAX_FORKED = 5
"""At most so many where all others take what the first one gives, so that nobody has to follow from one to the next.
Chosen, not measured: no reader had more than a few of them."""


@dataclass(frozen=True, kw_only=True)
class TemplateContext:
    """A path with the frames of its tools, and the sampler of the request.

    :param frames: tool → frame.
    :param questions: the questions of general knowledge beside the tools of the catalogue.
    """

    path: ToolPath
    frames: Mapping[str, ToolFrame]
    sampler: Sampler
    questions: GeneralQuestions

    @cached_property
    def steps(self) -> tuple[ToolFrame, ...]:
        """The frames in the order of the path."""
        return tuple(self.frames[tool] for tool in self.path.tools)

    def into(self, tool: str) -> tuple[PathEdge, ...]:
        """The edges that fill arguments of a tool."""
        return tuple(edge for edge in self.path.into(tool) if self.frames[tool].argument(edge.parameter) is not None)

    @cached_property
    def goals(self) -> tuple[ToolFrame, ...]:
        """The steps that fill no other step: the purpose of the request."""
        sources = {edge.source for edge in self.path.edges if edge.kind == "R-P"}
        return tuple(step for step in self.steps if step.tool not in sources)

    @property
    def forks_from_one_thing(self) -> bool:
        """Whether all other steps work on the thing that the first one finds."""
        first, *others = self.steps
        pairs = [
            (edge, self.frames[edge.target].argument(edge.parameter)) for one in others for edge in self.into(one.tool)
        ]
        return all(edge.source == first.tool and is_same_thing(argument, first) for edge, argument in pairs)

    def require_few(self) -> None:
        """Check that a person can follow the steps at one reading.

        :raises GenerationError: when there are more.
        """
        if len(self.path.tools) > (_MAX_FORKED if self.forks_from_one_thing else _MAX_STEPS):
            raise GenerationError("it has more steps than one sentence can tell")

    def require_aim(self) -> None:
        """Check that no step only looks again at what a step before it made or changed: its answer had it.

        :raises GenerationError: when one does.
        """
        self.require_few()
        changed = [step.noun.key for step in self.steps if step.kind in ("act", "update")]
        if len(set(changed)) < len(changed):
            raise GenerationError("one thing would be changed twice")
        for at, step in enumerate(self.steps):
            before = self.steps[:at]
            mine = [one for one in before if one.noun.key == step.noun.key]
            looks = step.kind == "get" and (at > 1 or any(not one.reads for one in mine))
            made = any(one.kind == "create" for one in mine)
            if made and step.kind == "act" and step.verb not in _FOLLOW_UP and not _has_values(step):
                raise GenerationError("nothing says why somebody would do this to what was just made")
            undoes = step.verb in UNDO_VERBS and any(one.kind == "create" for one in mine)
            if mine and (looks or undoes):
                raise GenerationError("a step only looks at what a step before it found or made, or undoes it")

    def require_needed(self, goal: ToolFrame) -> None:
        """Check that a goal gives more than the search or the list before it, which finds the same thing.

        Of "look up Taunus Brothers" the search alone serves, found on examples/enterprise.

        :raises GenerationError: when it only shows the thing that was found.
        """
        if goal.kind != "get" or goal.identity is None or goal.identity.noun is None:
            return
        for edge in self.into(goal.tool):
            source = self.frames[edge.source]
            if edge.parameter in goal.identity.names and source.many and is_same(goal.noun.key, source.noun.key):
                raise GenerationError("what finds the thing shows it too, so nothing needs the last step")

    def require_news(self) -> None:
        """Check that no step only looks up the number that the request states for another step.

        :raises GenerationError: when one does.
        """
        for step in self.steps:
            for edge in self.into(step.tool):
                source, argument = self.frames[edge.source], step.argument(edge.parameter)
                stated = source.kind == "get" and source.identity is not None and not self.into(source.tool)
                same = (
                    argument is not None and argument.noun is not None and is_same(argument.noun.key, source.noun.key)
                )
                if stated and same:
                    raise GenerationError("a step only returns the number that is stated, so nothing needs it")

    def require_one_number(self) -> None:
        """Check that no step takes a number of a kind of thing that a step before it finds: the first network, and network 5956.

        :raises GenerationError: when one does.
        """
        found: set[str] = set()
        for step in self.steps:
            filled = {edge.parameter for edge in self.into(step.tool)}
            open_ids = [
                one for one in step.arguments if one.role == "id" and one.required and filled.isdisjoint(one.names)
            ]
            if any(one.noun is not None and one.noun.key in found for one in open_ids):
                raise GenerationError("a number is said for a thing that a step before it finds")
            found |= {step.noun.key} if step.many else set()

    def require_told_steps(self) -> None:
        """Check that people would say each step that another one takes something of.

        Nobody says that a thing which was just found is opened, nor that what is their own is looked at, on the way to
        something else; and of three steps each takes what the one before it gives, or the last two only read.

        :raises GenerationError: when nobody would say one of them.
        """
        feeding = {edge.source for step in self.steps for edge in self.into(step.tool)}
        for step in self.steps:
            if step.tool in feeding and step.kind == "get":
                if self.into(step.tool):
                    raise GenerationError("a step only opens what a step before it found, and nobody says that")
                if step.identity is None and step.owner is None:
                    raise GenerationError("a step looks at what is the asker's own, and nobody says that")
        for before, step in pairwise(self.steps):
            follows = any(edge.source == before.tool for edge in self.into(step.tool))
            if not follows and not (before.reads and step.reads):
                raise GenerationError(
                    "its last two steps do not follow from each other, and one of them changes something"
                )

    def require_one_subject(self) -> None:
        """Check that the tools are of one system; of an unknown company's also that each is about a thing of another one.

        A system of an unknown company may have a thousand tools of many subjects. Of tools of two systems that share a word
        (a group of each) two readers said that nobody asks for both in one message.

        :raises GenerationError: when nobody would ask for them in one message.
        """
        groups: list[set[str]] = []
        for step in self.steps:
            mine = {step.namespace} if step.namespace and not step.is_general else set()
            nouns = [noun for noun in (step.noun, step.owner_noun) if noun is not None]
            if step.is_general or not step.namespace:
                mine |= {f"{step.namespace} {word}" for noun in nouns for word in noun.key.split()}
            joined = [group for group in groups if group & mine]
            groups = [group for group in groups if not group & mine]
            groups.append(mine.union(*joined))
        if len(groups) > 1:
            raise GenerationError("its tools are of several subjects, so nobody asks for them in one message")

    def require_dependence(self) -> None:
        """Check that there are several steps, each joined to another.

        :raises GenerationError: when this is not so.
        """
        if len(self.path.tools) < 2:
            raise GenerationError("one tool has no steps")
        edges = [edge for tool in self.path.tools for edge in self.into(tool)]
        ends = {end for edge in edges if edge.kind == "R-P" for end in (edge.source, edge.target)}
        if not ends.issuperset(self.path.tools):
            raise GenerationError("its steps do not depend on each other")


def _has_values(step: ToolFrame) -> bool:
    """Whether a step takes a thing or a value beside the thing that it is about, other than a reason."""
    return any(one.role == "id" or is_value(one) for one in step.arguments if one is not step.identity)
