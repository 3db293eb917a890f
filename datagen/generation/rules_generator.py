"""The generator ``rules.v2``: the text of a request from the path, the class and the seed alone.

One request, step by step: each tool of the path becomes a frame (``tool_frame``). The template of the class
(``templates``) makes several texts from the frames. Texts with a fault are dropped (``text_check``). Of the others the
one with the least common words is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from datagen.generation.general_questions import GeneralQuestions
from datagen.generation.realisation import realise
from datagen.generation.template_context import TemplateContext
from datagen.generation.templates import TEMPLATES
from datagen.generation.text_check import fault_of
from datagen.generation.tool_frame import GenerationError, ToolFrame
from datagen.generation.tool_wording import ToolWording
from datagen.interfaces import GeneratedText
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import CLASSES, RejectedRequest
from datagen.tool_path import ToolPath
from ontology.errors import InvalidArgumentError
from ontology.stop_words import stop_words

__all__ = ["RulesGenerator"]

_ATTEMPTS = 18
_FRUITLESS = 2
"""After so many attempts without a text there is none; the second of them states an optional value. Of 137 paths of the shipped company
that get a text in 18 attempts 132 get it in two, of 30 of eight other vendors all in one; a path without a text is tried again."""
_MAX_TEXTS = 5
"""Of so many texts the one with the least common words is taken. Of 600 requests of the shipped company distinct-2 is 0.49 with 5, 7 or 11."""
_FREE_REPETITION = 0.33
"""Repetition for each word that does not count."""
_GENERAL_QUESTION = "ir-multi-intent"
_SIDE_BY_SIDE = ("multi-intent", _GENERAL_QUESTION)
_COMMON = stop_words("plain_words")


class RulesGenerator:
    """Generates requests by rules and templates."""

    name = "rules.v2"

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self.wording = ToolWording(catalogue)
        self._questions = GeneralQuestions(self.wording)
        self._no_part: dict[tuple[str, str], str] = {}

    def no_words(self, tool: str) -> str:
        """Why people have no plain words for a tool, or empty."""
        return self.wording.reason(tool)

    def no_part(self, tool: str, request_class: str) -> str:
        """Why a tool is no request of its own beside others, or empty.

        Its thing must be said by what people type, and not be all things of a kind; beside a question of general knowledge
        the documents must have that question. With paths about one thing, multi-intent
        texts of two catalogues of vendors rose from 13 and 9 to 30 of 30, those beside a question from 17 and 21 to 30.
        """
        if request_class not in _SIDE_BY_SIDE:
            return ""
        key = (tool, request_class)
        if key not in self._no_part:
            self._no_part[key] = self._why_no_part(tool, request_class)
        return self._no_part[key]

    def _why_no_part(self, tool: str, request_class: str) -> str:
        reason = self.no_words(tool)
        if reason:
            return reason
        frame = self.wording.frame(tool)
        if request_class == _GENERAL_QUESTION and not self._questions.beside(frame):
            return "the documents say nothing of the thing that somebody would ask about"
        for attempt in range(_FRUITLESS):
            sampler = self.wording.sampler(tool, request_class, str(attempt), verbose=bool(attempt))
            try:
                realised = realise(frame, {}, sampler, minimal=not frame.many)
            except GenerationError as error:
                reason = str(error)
                continue
            if realised.narrowed or not frame.many:
                return ""
            reason = "the request lists all things of a kind"
        return reason

    def generate(self, path: ToolPath, request_class: str, *, seed: int) -> GeneratedText | RejectedRequest:
        """The text of one request of this class over this path, or the reason why there is none.

        :raises InvalidArgumentError: for a class that is none of the six.
        :raises NotFoundError: for a tool that the catalogue does not have.
        """
        if request_class not in TEMPLATES:
            raise InvalidArgumentError(
                "there is no such class of requests", subject=request_class, remedy=f"Classes are {', '.join(CLASSES)}"
            )
        frames: dict[str, ToolFrame] = {}
        for tool in path.tools:
            try:
                frames[tool] = self.wording.frame(tool)
            except GenerationError as error:
                return _rejected(path, request_class, f"{tool} cannot be put into words: {error}")
        return self._generate(path, frames, request_class, seed)

    def _generate(
        self, path: ToolPath, frames: Mapping[str, ToolFrame], request_class: str, seed: int
    ) -> GeneratedText | RejectedRequest:
        """Of the first few texts without a fault the one with the least common words."""
        reason, text = "", ""
        generated: list[GeneratedText] = []
        for attempt in range(_ATTEMPTS):
            if attempt == _FRUITLESS and not generated:
                break
            verbose = not generated and attempt >= _FRUITLESS // 2
            sampler = self.wording.sampler(*path.tools, request_class, str(seed), str(attempt), verbose=verbose)
            try:
                context = TemplateContext(path=path, frames=frames, sampler=sampler, questions=self._questions)
                text = TEMPLATES[request_class](context)
            except GenerationError as error:
                reason = str(error)
                continue
            values = tuple(dict.fromkeys(sampler.values))
            reason = fault_of(text, values, request_class, path, frames, names=sampler.names)
            if not reason:
                generated.append(GeneratedText(text=text, values=values))
            if len(generated) == _MAX_TEXTS:
                break
        if generated:
            return min(generated, key=lambda one: _repetition(one.text))
        return _rejected(path, request_class, reason, text)


def _repetition(text: str) -> float:
    """Return how much a text repeats other requests: its pairs of common words minus the free repetition."""
    common = [_commonness(word) for word in text.split()]
    return sum(one * other for one, other in pairwise(common)) - _FREE_REPETITION * len(common)


@lru_cache(maxsize=100_000)
def _commonness(word: str) -> float:
    """1 for a word of nearly every request, 0 for a name or a number."""
    bare = word.strip(".,:;?!()").lower()
    return 1.0 if bare in _COMMON else 0.75 if bare.isalpha() and word[-1:] != "'" and word.islower() else 0.0


def _rejected(path: ToolPath, request_class: str, reason: str, text: str = "") -> RejectedRequest:
    return RejectedRequest(stage="generate", subject=path.tools, reason=reason, request_class=request_class, text=text)
