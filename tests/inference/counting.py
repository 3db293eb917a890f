"""A tokenizer that notes how much text it is given."""

from __future__ import annotations

from typing import Any


class CountingTokenizer:
    """Encodes as the given tokenizer does.

    :param tokenizer: one of the library ``tokenizers``.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.longest = 0

    def encode(self, text: str, **options: Any) -> Any:
        """The encoding; ``longest`` becomes the characters of the longest text so far."""
        self.longest = max(self.longest, len(text))
        return self._tokenizer.encode(text, **options)
