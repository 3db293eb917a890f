"""The paraphraser: a chat model rewords a request, and rules decide whether the result may be used.

The model gets the worded request only, as JSON text: no text of a document, and nothing that it could take for an
instruction. A rejected paraphrase is dropped with its reason, which the model gets in the next round.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from datagen.llm.chat_step import ChatStep, answer_parser, answer_schema, structured_request
from datagen.llm.paraphrase_check import Drop, ParaphraseCheck
from datagen.llm.prompts import MISTAKES, WRITING_STYLES, render_prompt
from datagen.llm.value_masks import MaskedText, mask_values
from datagen.synthetic_request import SyntheticRequest
from inference.chat import GREEDY, ChatModel, Sample
from inference.result_cache import ResultCache
from inference.structured_chat import StructuredRequest
from ontology.errors import ModelError

__all__ = ["Paraphrase", "Paraphraser"]

_CANDIDATES = 3
_MAX_READ = 10  # of an answer with more candidates than were asked for: a server may keep to no limit
_ROUNDS = 3
_TEMPERATURE = 0.7  # from the second round on: the first answer is the likeliest
_CHARS_PER_TOKEN = 2.5  # fewer than in English, because values are split into many tokens
_FREE_TOKENS = 40
_MAX_TOKENS = 700
_MAX_REASON_CHARS = 120


@dataclass(frozen=True, kw_only=True)
class Paraphrase:
    """The outcome of one request.

    :param text: the first paraphrase that passes, or empty.
    :param drops: those before it, in the order of the answers.
    :param problem: why an answer could not be used, or empty.
    :param failure: the error of a failed call; None where the model answered.
    """

    text: str = ""
    drops: tuple[Drop, ...] = ()
    problem: str = ""
    failure: ModelError | None = None


class Paraphraser:
    """Rewords requests with a chat model, in at most three rounds each.

    :param check: decides on a paraphrase.
    :param cache: cache of answers; None for no cache.
    :param masked: whether the model sees masks instead of values: see :mod:`datagen.llm.value_masks`.
    :raises MissingExtraError: when jsonschema is not installed.
    """

    def __init__(
        self, check: ParaphraseCheck, model: ChatModel, cache: ResultCache | None = None, *, masked: bool = True
    ) -> None:
        self._check = check
        self._chat = ChatStep(model, cache)
        self._parser = answer_parser(_schema())
        self._masked = masked

    def paraphrase(self, worded: SyntheticRequest, *, seed: int) -> Paraphrase:
        """Return a paraphrase of a request that passes the validators.

        :param seed: chooses the style.
        :raises ModelError: when three calls in a row failed.
        :raises BudgetExceededError: when the cap is reached; earlier answers are in the cache.
        """
        masked = mask_values(worded.text, worded.values, masked=self._masked)
        style = random.Random(f"{seed}\n{worded.path.id}").choice(WRITING_STYLES)
        drops: list[Drop] = []
        for number in range(_ROUNDS):
            sample = Sample(seed=number, temperature=_TEMPERATURE) if number else GREEDY
            answer = self._chat.call(_request(masked, style, drops, sample), self._parser.parse)
            if answer.value is None:
                return Paraphrase(drops=tuple(drops), problem=answer.problem.rstrip("."), failure=answer.failure)
            texts = answer.value["rewordings"][:_MAX_READ]
            for text in dict.fromkeys(" ".join(one.split()) for one in texts):
                drop = self._check.find_drop(masked.unmask(text), worded)
                if drop is None:
                    return Paraphrase(text=masked.unmask(text), drops=tuple(drops))
                drops.append(drop)
        return Paraphrase(drops=tuple(drops))


def _request(masked: MaskedText, style: str, drops: Sequence[Drop], sample: Sample) -> StructuredRequest:
    said: dict[str, Any] = {"message": masked.text, "keep": list(masked.keep), "style": style}
    if drops:
        said["mistakes"] = list(dict.fromkeys(_masked_reason(drop, masked) for drop in drops))
    tokens = _FREE_TOKENS + round(_CANDIDATES * len(masked.text) / _CHARS_PER_TOKEN)
    text = json.dumps(said, ensure_ascii=False)
    instructions = render_prompt("paraphrase", most=_CANDIDATES)
    schema = _schema(max_items=_CANDIDATES)
    request = structured_request(instructions, text, schema, "paraphrase", max_tokens=min(tokens, _MAX_TOKENS))
    return replace(request, sample=sample)


def _masked_reason(drop: Drop, masked: MaskedText) -> str:
    """What the model is told of a drop: of the rules that look at documents not the reason, which may quote them."""
    reason = MISTAKES.get(drop.rule, drop.reason)
    for mask, value in masked.values.items():
        reason = reason.replace(value, mask)
    return reason[:_MAX_REASON_CHARS]


def _schema(*, max_items: int = 0) -> dict[str, Any]:
    """Return the schema of an answer; the schema with a number is for the server."""
    texts: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    return answer_schema(rewordings={**texts, "maxItems": max_items} if max_items else texts)
