"""Usage lines of a tool: when to use it, what it cannot do, and everyday requests; each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DOCUMENT", "MODEL", "OVERLAY", "RULE", "UsageLine", "UsageLines"]

DOCUMENT, RULE, MODEL, OVERLAY = "document", "rule", "model", "overlay"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLine:
    """One line, and where it comes from.

    :param origin: ``document`` (quoted), ``rule`` (made from words of the document and word lists), ``model`` or
        ``overlay``.
    :param source: the quoted field (``description``), the versioned name of the rule (``rules.v1 verb-object``), the name of
        the model and the version of the prompt, or the line of the overlay file (``overlay.yaml:12``).
    :param start: of a quote: position of its first character in the field's text; else -1.
    :param end: of a quote: position after its last character; else -1.
    """

    text: str
    origin: str
    source: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLines:
    """The usage lines of one tool, apart from the words of its document; all empty where none were made.

    :param when_to_use: when the tool is the right one.
    :param limitations: what it cannot do, needs, or bounds.
    :param requests: everyday requests that it serves: those of overlay files, then 4 to 8 others.
    """

    when_to_use: tuple[UsageLine, ...] = ()
    limitations: tuple[UsageLine, ...] = ()
    requests: tuple[UsageLine, ...] = ()
