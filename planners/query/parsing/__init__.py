"""Words → query graphs: by rules over a domain's vocabulary, or by a chat model whose graphs are checked and sent back with their faults."""

from planners.query.parsing.parser_registry import load_parser
from planners.query.parsing.request_parser import Parser

__all__ = ["Parser", "load_parser"]
