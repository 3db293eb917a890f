"""How many tokens a planner puts before a model."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import inference

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenizers import Tokenizer

__all__ = ["PromptTokens"]

_TOKENIZER = Path(inference.__file__).parent / "weights" / "minilm-l6-v2-int8" / "tokenizer.json"
_WORD = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
"""What the tokenizer takes a text of ASCII apart into: words, and each other character that is printed, alone."""
_ELSE = re.compile(r"[^ -~\n]|\[(?:PAD|UNK|CLS|SEP|MASK)\]")
"""What it takes apart in another way."""
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
