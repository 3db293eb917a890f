"""What runs in the sandbox to make Markdown of a file: a hostile one holds up, or breaks, only that process.

Its text is given to the interpreter there, which sees nothing else of this package; so it imports the standard library, and the
converters.
"""

from __future__ import annotations

import json
import sys
import types
from typing import Any

__all__ = ["convert"]

_CONVERTERS = {"pdf": "PdfConverter", "docx": "DocxConverter", "xlsx": "XlsxConverter", "html": "HtmlConverter"}


def convert(kind: str, path: str, charset: str) -> None:
    """Write ``{"text": …}`` to stdout, or ``{"fault": name of the error, "detail": …}``."""
    try:
        answer = {"text": _markdown(kind, path, charset)}
    except MemoryError:
        answer = {"fault": "MemoryError", "detail": ""}
    except Exception as error:  # the converters raise whatever their parsers do
        names = [each.__name__ for each in type(error).__mro__]
        answer = {"fault": " ".join(names), "detail": str(error)[:200]}
    sys.stdout.write(json.dumps(answer))


def _markdown(kind: str, path: str, charset: str) -> str:
    # The package looks at files of unknown kind by a neural network, which takes a second to load; the kind is known here.
    sys.modules["magika"] = types.ModuleType("magika")
    import markitdown
    from markitdown import converters

    converter: Any = getattr(converters, _CONVERTERS[kind])()
    with open(path, "rb") as file:
        info = markitdown.StreamInfo(extension=f".{kind}", charset=charset or None)
        return str(converter.convert(file, info).markdown)
