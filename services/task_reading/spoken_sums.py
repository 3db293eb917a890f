"""Plain arithmetic in words: what is to be computed, as an expression in Python. What is not understood whole is not computed.

The forms were found on the tasks of the half ``dev`` and on school arithmetic; numbers have a point, and commas between thousands.
"""

from __future__ import annotations

import re

__all__ = ["seems_a_sum", "spoken_sum"]

_N = r"(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)"
_UNIT = r"(?: ?(?:€|\$|£|euros?|dollars?|pounds?|kg|km|m|cm|hours?|minutes?|pieces?|litres?))?"
_PERCENT = r" ?(?:%|percent|per cent)"
_WHAT = r"(?:what(?:'s| is| are)|how much (?:is|are)|calculate|compute|work out)"
_SIGNS = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "multiplied by": "*",
    "divided by": "/",
    "x": "*",
    "×": "*",
    "÷": "/",
    "^": "**",
}
_WORD_SIGN = re.compile(r"\b(?:multiplied by|divided by|plus|minus|times)\b|(?<=[\d )])[x×÷^](?=[\d (])")
_PLAIN = re.compile(r"[\d.+*/() -]+")
_COST = rf"an? [\w ]+ (?:costs?|is priced at|sells for) [€$£]?{_N}{_UNIT}[.,;]? (?:what|how much) (?:does|will|would|is) (?:it|its price)(?: then)?(?: cost)?"


def spoken_sum(question: str) -> str | None:
    """Return the expression that a question asks for; None of one that is no plain arithmetic."""
    text = " ".join(question.split()).strip().rstrip("?.!").casefold()
    if found := re.fullmatch(rf"{_WHAT} {_N}{_PERCENT} of [€$£]?{_N}{_UNIT}", text):
        return f"{_digits(found[1])} * {_digits(found[2])} / 100"
    if found := re.fullmatch(rf"(?:what percentage|what percent|how many percent) of {_N}{_UNIT} is {_N}{_UNIT}", text):
        return f"100 * {_digits(found[2])} / {_digits(found[1])}"
    if found := re.fullmatch(
        rf"{_COST} (?:after|with) an? (discount|reduction|increase|surcharge|rise) of {_N}{_PERCENT}", text
    ):
        sign = "-" if found[2] in ("discount", "reduction") else "+"
        return f"{_digits(found[1])} * (100 {sign} {_digits(found[3])}) / 100"
    found = re.fullmatch(rf"{_WHAT} (.+)", text)
    if found is None:
        return None
    plain = _WORD_SIGN.sub(lambda sign: f" {_SIGNS[sign[0]]} ", re.sub(_N, lambda number: _digits(number[0]), found[1]))
    return _checked(" ".join(plain.split())) if _PLAIN.fullmatch(plain.replace("**", "*")) else None


def seems_a_sum(question: str) -> bool:
    """Whether a question has two numbers and a word of arithmetic, though it need not be a form that is computed."""
    text = question.casefold()
    return len(re.findall(_N, text)) > 1 and bool(re.search(rf"{_PERCENT}|{_WORD_SIGN.pattern}|\d ?[-+*/] ?\d", text))


def _digits(number: str) -> str:
    return number.replace(",", "")


def _checked(expression: str) -> str | None:
    """Return an expression that Python reads and that has a sign; a mere number asks nothing."""
    if not re.search(r"\d.*[-+*/].*\d", expression) or re.search(r"\*\* *\d{4}|\*\*.*\*\*", expression):
        return None
    try:
        compile(expression, "sum", "eval")
    except (SyntaxError, ValueError):
        return None
    return expression
