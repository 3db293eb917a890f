"""The reasons of a returned tool in one line of text."""

from __future__ import annotations

from egotools.values import Reasons

__all__ = ["format_reasons"]

_SHOWN = 2


def format_reasons(tool_id: str, reasons: Reasons) -> str:
    """The words that matched, the edges that led to the tool, and which tools supply its inputs; at most two of each."""
    node = f"tool:{tool_id}"
    parts = []
    words = [f'"{match.text}"{_declared(match.origin)}' for match in reasons.entries if match.kind == "ngram"]
    if words:
        parts.append("says " + ", ".join(dict.fromkeys(words[:_SHOWN])))
    elif any(match.node == node for match in reasons.entries):
        parts.append("near in meaning")
    edges = [
        f"{edge.predicate} {(edge.tail if edge.head == node else edge.head).partition(':')[2]}{_declared(edge.origin)}"
        for edge in reasons.edges
    ]
    if edges:
        parts.append("via " + ", ".join(dict.fromkeys(edges[:_SHOWN])))
    supplied = [
        f"{binding.parameter or 'it'} from {binding.supplier}{_declared(binding.origin)}"
        for binding in reasons.bindings
        if binding.supplier
    ]
    if supplied:
        parts.append("gets " + ", ".join(supplied[:_SHOWN]))
    missing = [
        f"{binding.parameter}{_declared(binding.origin)}" for binding in reasons.bindings if not binding.supplier
    ]
    if missing:
        parts.append("asks for " + ", ".join(missing[:_SHOWN]))
    boost = reasons.features.get("overlay_boost")
    if boost:
        parts.append(f"{'raised' if boost > 0 else 'lowered'} by an overlay")
    return "; ".join(parts) or "near in text"


def _declared(origin: str) -> str:
    """Where an overlay file declares it, in parentheses; empty where none does."""
    return f" ({origin})" if origin else ""
