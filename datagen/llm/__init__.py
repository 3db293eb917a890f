"""The LLM backends of data generation: outputs, sequences, requests and their validation by a chat model.

Each makes its calls through ``chat_step``, with a cache, one repair and a failure budget. The prompts are data
(``prompts.yaml``). An answer counts only as far as it can be checked: names come from a list, values stand in the text.
"""

from datagen.llm.llm_generator import LlmGenerator
from datagen.llm.llm_outputs import LlmOutputs
from datagen.llm.llm_validator import LlmSequence, llm_validators

__all__ = ["LlmGenerator", "LlmOutputs", "LlmSequence", "llm_validators"]
