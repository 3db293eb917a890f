"""The default of an input: what a call has where it says nothing of the input."""

from __future__ import annotations

import re

from ontology.names import words
from ontology.tool import Parameter

__all__ = ["has_default"]

_FIXED = re.compile(r"\d{4}-\d\d-\d\d|\S\s+\S")
"""A fixed day, or several words."""


def has_default(parameter: Parameter) -> bool:
    """Whether a call can be made without a value of the input.

    No server takes a fixed day or a phrase for an input that it requires: such a default is an example. A version is named by
    a day. Found on the documents of VTEX, where orders are listed by a required range of days.
    """
    if not parameter.default:
        return False
    is_example = parameter.required and not parameter.enum and _FIXED.search(parameter.default) is not None
    return not is_example or parameter.location == "header" or "version" in words(parameter.name)
