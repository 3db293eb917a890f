"""How many tokens a planner puts before a model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import inference
from planners.finding.tool_finder import FoundTool

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["CHARACTERS", "PromptTokens", "tools_prompt"]

CHARACTERS = "characters/4"
"""The name of the rule of thumb that needs no tokenizer."""
_SHIPPED = Path(inference.__file__).parent / "weights" / "minilm-l6-v2-int8" / "tokenizer.json"


class PromptTokens:
    """Counts the tokens of texts, and their sum over a run.

    No tokenizer of a chat model is shipped. The default is the WordPiece tokenizer of the shipped encoder, which counts English text
    and JSON somewhat higher than the tokenizers of chat models; :attr:`name` says which one counted.

    :param tokenizer: ``tokenizer.json`` of a model; :data:`CHARACTERS` for a quarter of the number of characters, rounded up.
    """

    def __init__(self, tokenizer: Path | str = _SHIPPED) -> None:
        self._path = Path(tokenizer)
        self.name = CHARACTERS if str(tokenizer) == CHARACTERS else f"tokenizer of {self._path.parent.name}"
        self.total = 0

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without those that a model adds around it, and add it to :attr:`total`."""
        if self.name == CHARACTERS:
            tokens = -(-len(text) // 4)
        else:
            tokens = len(self._tokenizer.encode(text, add_special_tokens=False).ids)
        self.total += tokens
        return tokens

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


def tools_prompt(tools: Iterable[FoundTool]) -> str:
    """Return the call schemas of tools as a model gets them: one JSON list. The finder must have asked for a schema format."""
    return f"[{','.join(found.tool.schema_json for found in tools if found.tool.schema_json)}]"
