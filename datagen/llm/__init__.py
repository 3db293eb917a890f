"""The LLM backends of data generation: paraphrases of worded requests, outputs, sequences and verdicts by a chat model.

Each makes its calls through ``chat_step``, with a cache, one repair and a failure budget. The prompts are data
(``prompts.yaml``). An answer counts only as far as it can be checked: names come from a list, values stand in the text,
and a paraphrase passes the checks of the rules.
"""

from datagen.llm.llm_generator import LlmGenerator
from datagen.llm.llm_outputs import LlmOutputs
from datagen.llm.llm_validator import LlmSequence, llm_validators
from datagen.llm.paraphrase_check import ParaphraseCheck
from datagen.llm.paraphraser import Paraphrase, Paraphraser

__all__ = [
    "LlmGenerator",
    "LlmOutputs",
    "LlmSequence",
    "Paraphrase",
    "ParaphraseCheck",
    "Paraphraser",
    "llm_validators",
]
