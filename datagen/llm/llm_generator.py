"""The generator ``llm.v2``: rules word a request, a chat model rewords it, rules check the result."""

from __future__ import annotations

from dataclasses import replace

from datagen.interfaces import GeneratedText, Generator
from datagen.llm.paraphrase_check import ParaphraseCheck
from datagen.llm.paraphraser import Paraphrase, Paraphraser
from datagen.synthetic_request import RejectedRequest, SyntheticRequest
from datagen.tool_path import ToolPath

__all__ = ["NAME", "LlmGenerator"]

NAME = "llm.v2"


class LlmGenerator:
    """Generates requests by rules, and rewords them with a chat model.

    :param rules: the generator of the request that is reworded.
    :param check: the check of the paraphraser; what ``rules`` generates is not reworded unless it passes the validators.
    :param fallback: keep the wording of ``rules`` where no paraphrase passes; else the request is rejected. A text
        says by whom it is.
    """

    def __init__(
        self, rules: Generator, check: ParaphraseCheck, paraphraser: Paraphraser, *, fallback: bool = True
    ) -> None:
        self._rules = rules
        self._check = check
        self._paraphraser = paraphraser
        self._fallback = fallback

    @property
    def name(self) -> str:
        """``llm.v2``, with the name of the generator whose wording may be kept."""
        return f"{NAME}+{self._rules.name}" if self._fallback else NAME

    def no_words(self, tool: str) -> str:
        """Why the rules have no plain words for a tool, or empty."""
        return self._rules.no_words(tool)

    def no_part(self, tool: str, request_class: str) -> str:
        """Why the rules make no request of its own of a tool beside others, or empty."""
        return self._rules.no_part(tool, request_class)

    def generate(self, path: ToolPath, request_class: str, *, seed: int) -> GeneratedText | RejectedRequest:
        """Return the reworded text, or a rejection; see :class:`datagen.interfaces.Generator`.

        :param seed: of the wording, and of the style of the paraphrase.
        :raises InvalidArgumentError: when there is no such class.
        :raises NotFoundError: when a tool of the path is not in the catalogue.
        :raises BudgetExceededError: when the cap is reached; earlier answers are in the cache.
        """
        worded = self._rules.generate(path, request_class, seed=seed)
        if isinstance(worded, RejectedRequest):
            return worded
        request = SyntheticRequest(
            id="", text=worded.text, request_class=request_class, path=path, values=worded.values
        )
        if self._check.find_fault(request):
            return replace(worded, by=self._rules.name)  # the run rejects it with the reason
        made = self._paraphraser.paraphrase(request, seed=seed)
        if made.text:
            return replace(worded, text=made.text, by=NAME)
        if self._fallback and made.failure is None:
            return replace(worded, by=self._rules.name)
        return RejectedRequest(
            stage="generate", subject=path.tools, reason=_reason(made), request_class=request_class, text=worded.text
        )


def _reason(made: Paraphrase) -> str:
    """Why no paraphrase is used."""
    last = f"the last paraphrase was dropped: {made.drops[-1].reason}" if made.drops else ""
    return made.problem or last or "the model gave no paraphrase"
