"""The ``llm`` twins: outputs inferred, sequences judged, requests worded and judged by a chat model.

Each asks through :mod:`datagen.llm.asking`, so that all keep their answers, repair once and give up in the same way.
What a model says is never trusted further than it can be checked: names come from a list, values stand in the request.
"""

from datagen.llm.asking import NAME
from datagen.llm.generator import LlmGenerator
from datagen.llm.judges import llm_judges
from datagen.llm.outputs import LlmOutputs
from datagen.llm.sequence import LlmSequence

__all__ = ["NAME", "LlmGenerator", "LlmOutputs", "LlmSequence", "llm_judges"]
