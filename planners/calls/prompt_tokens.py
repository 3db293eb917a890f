"""How many tokens a planner puts before a model, and a model whose prompts are counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import inference
from inference.chat import ChatModel, Completion, ObservedModel
from ontology.json_values import canonical_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["CountedModel", "PromptTokens"]

_TOKENIZER = Path(inference.__file__).parent / "weights" / "minilm-l6-v2-int8" / "tokenizer.json"
# What the tokenizer takes a text of ASCII apart into, and what it takes apart in another way.
_WORD = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
_ELSE = re.compile(r"[^ -~\n]|\[(?:PAD|UNK|CLS|SEP|MASK)\]")
_WORDS = 65_536  # whose numbers of tokens are kept: a few megabytes


class PromptTokens:
    """Counts the tokens of texts.

    No tokenizer of a chat model is shipped. It is the WordPiece tokenizer of the shipped encoder, which counts English text and JSON
    somewhat higher than the tokenizers of chat models; :attr:`name` says so in accounts.
    """

    name = f"tokenizer of {_TOKENIZER.parent.name}"

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without those that a model adds around it.

        Words are counted one by one and kept where the text is plain ASCII: that is some ten times as fast, and gives the same number.
        """
        if _ELSE.search(text):
            return len(self._tokenizer.encode(text, add_special_tokens=False).ids)
        return sum(map(self._of_word, _WORD.findall(text)))

    @cached_property
    def _of_word(self) -> Callable[[str], int]:
        model = self._tokenizer.model

        @lru_cache(_WORDS)
        def of_word(word: str) -> int:
            return len(model.tokenize(word.lower()))

        return of_word

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_TOKENIZER))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


class CountedModel(ObservedModel):
    """Hands prompts on to a model and counts their tokens: the messages, and the schema of the answer.

    :ivar prompts: tokens of each prompt so far.
    """

    def __init__(self, model: ChatModel, tokens: PromptTokens) -> None:
        super().__init__(model, self._counted)
        self._tokens = tokens
        self.prompts: list[int] = []

    @property
    def counter(self) -> str:
        """What counts."""
        return self._tokens.name

    def _counted(self, step: str, asked: Mapping[str, Any], ask: Callable[[], Completion]) -> Completion:
        schema = asked["schema"]
        texts = [*(text for _, text in asked["messages"]), *([canonical_text(schema)] if schema is not None else ())]
        self.prompts.append(sum(map(self._tokens.count, texts)))
        return ask()
