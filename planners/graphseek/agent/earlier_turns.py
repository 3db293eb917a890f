"""Earlier turns of a conversation in a prompt: within a number of tokens, the oldest left out by a rule or summarised by a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

__all__ = ["history_text"]

_LONGEST_SHARE = 4  # one turn has a quarter of the tokens at most, so that a long answer does not push out the others
_CHARS_PER_TOKEN = 4


async def history_text(
    turns: Sequence[tuple[str, str]],
    *,
    most_tokens: int,
    count: Callable[[str], int],
    summarise: Callable[[str], Awaitable[str]] | None = None,
) -> str:
    """Return the turns as a text, the newest whole.

    :param turns: (question, answer), the oldest first.
    :param count: tokens of a text.
    :param summarise: shortens the turns that do not fit; they are left out where None, or where it gives nothing.
    """
    texts = [
        _cut(f"Question: {asked}\nAnswer: {answered}", most_tokens // _LONGEST_SHARE, count)
        for asked, answered in turns
    ]
    kept: list[str] = []
    left = most_tokens
    for text in reversed(texts):
        left -= count(text)
        if left < 0:
            break
        kept.insert(0, text)
    older = texts[: len(texts) - len(kept)]
    if not older:
        return "\n".join(kept)
    share = most_tokens // _LONGEST_SHARE
    while len(kept) > 1 and sum(map(count, kept)) > most_tokens - share:
        older.append(kept.pop(0))
    said = await summarise("\n".join(older)) if summarise is not None else ""
    note = f"Before that, in short: {said}" if said else f"({len(older)} earlier turns are left out.)"
    return "\n".join([_cut(note, share, count), *kept])


def _cut(text: str, most: int, count: Callable[[str], int]) -> str:
    """Return the beginning of a text that has too many tokens."""
    while (tokens := count(text)) > most:
        text = f"{text[: max(1, len(text) * most // (tokens + 1) - _CHARS_PER_TOKEN)]}…"
    return text
