"""A natural-language generator: the text of a request from the tools that it needs.

:class:`~datagen.generation.rules_generator.RulesGenerator` is where one request begins; its module shows the way. A tool becomes a
semantic frame with arguments (``tool_frame``, ``tool_name``, ``arguments``, ``condition_outputs``), a frame becomes a clause with
sample values (``clause``, ``phrases``, ``sampler``, ``value_sampler``, ``dates``), a clause becomes orders, questions and noun phrases
(``realisation``), other steps are referred to (``anaphora``, ``descriptions``, ``conditions``), ``templates`` has a module for each
class of requests, and ``style`` gives the text a tone. Words and sentence templates are YAML files of this folder.
"""

from datagen.generation.lexicon import load_lexicon
from datagen.generation.rules_generator import RulesGenerator

__all__ = ["RulesGenerator", "load_lexicon"]
