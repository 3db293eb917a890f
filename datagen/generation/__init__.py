"""A natural-language generator: the text of a request from the tools that it needs.

One request begins in ``rules_generator``. What the documents say that a tool
does (``statement``) must agree with its name and its path (``purpose``). Then it becomes a semantic frame with arguments
(``tool_frame``, ``arguments``, ``needed_filters``, ``identifier_shape``, ``condition_outputs``); else it is left out, with the reason
(``tool_wording``). A frame becomes a clause with sample values (``clause``,
``phrases``, ``sampler``, ``dates``), a clause becomes orders, questions and noun phrases (``realisation``), later
steps refer to earlier ones (``coreference``), ``templates`` has a module for each class of requests, ``style`` sets
the tone, and ``text_check`` drops texts with a fault. Words and sentence templates are YAML files of this folder.
"""

from datagen.generation.lexicon import Lexicon, load_lexicon
from datagen.generation.rules_generator import RulesGenerator
from datagen.generation.tool_wording import ToolWording

__all__ = ["Lexicon", "RulesGenerator", "ToolWording", "load_lexicon"]
