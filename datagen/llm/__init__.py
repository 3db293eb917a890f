"""The ``llm`` twins: outputs inferred, sequences validated, requests worded and validated by a chat model.

Each asks through :mod:`datagen.llm.chat_step`, so that all keep their answers, repair once and give up in the same way.
What a model says is never trusted further than it can be checked: names come from a list, values stand in the request.
"""

from datagen.llm.chat_step import NAME
from datagen.llm.llm_generator import LlmGenerator
from datagen.llm.llm_outputs import LlmOutputs
from datagen.llm.llm_sequence import LlmSequence
from datagen.llm.llm_validator import llm_validators

__all__ = ["NAME", "LlmGenerator", "LlmOutputs", "LlmSequence", "llm_validators"]
