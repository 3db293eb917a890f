"""How many tokens a planner puts before a model."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import inference

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["PromptTokens"]

_TOKENIZER = Path(inference.__file__).parent / "weights" / "minilm-l6-v2-int8" / "tokenizer.json"


class PromptTokens:
    """Counts the tokens of texts.

    No tokenizer of a chat model is shipped. It is the WordPiece tokenizer of the shipped encoder, which counts English text and JSON
    somewhat higher than the tokenizers of chat models; :attr:`name` says so in accounts.
    """

    name = f"tokenizer of {_TOKENIZER.parent.name}"

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without those that a model adds around it."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_TOKENIZER))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer
