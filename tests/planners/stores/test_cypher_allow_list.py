"""The Cypher that a model may write: what is admitted, what is refused, and that no disguise changes it."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ontology.errors import StatementError
from planners.stores.statements import MAX_STATEMENT, REFUSED, allowed_cypher

TEXTS = yaml.safe_load((Path(__file__).parent / "cypher.yaml").read_text("utf-8"))
ENDLESS = [
    "RETURN " + "(" * 100 + "1" + ")" * 100,
    "RETURN " + "NOT " * 100 + "true",
    f"RETURN '{'x' * MAX_STATEMENT}'",
]


def test_reads_are_admitted(subtests: pytest.Subtests) -> None:
    for text in TEXTS["reads"]:
        with subtests.test(ascii(text)):
            allowed = allowed_cypher(text)
            assert "/*" not in allowed
            assert "//" not in allowed
            assert not allowed.endswith(";")


def test_what_is_not_on_the_list_is_refused(subtests: pytest.Subtests) -> None:
    for text in [*TEXTS["writing"], *TEXTS["refused"], *ENDLESS]:
        with subtests.test(ascii(text)):
            with pytest.raises(StatementError) as fault:
                allowed_cypher(text)
            assert fault.value.remedy
            assert text not in TEXTS["writing"] or "changes the graph" in fault.value.problem


_JOINS = st.sampled_from([" ", "\n", "\t", "/**/", " // x\n", "/* ' */"])
_PARTS = st.sampled_from(
    """MATCH (n) (n:A) RETURN n n.x WITH * 1 's' AS x , { } [ ] : . | ( ) = ; FROM '/etc/passwd' db.x() UNWIND UNION $p - `q` IN NODE
    TABLE""".split()
)
_WORDS = st.sampled_from([each for word in sorted(REFUSED) for each in (word, word.lower(), word.title())])


@settings(max_examples=200, deadline=None)
@given(parts=st.lists(st.one_of(_PARTS, _PARTS, _WORDS), min_size=1, max_size=10), join=_JOINS)
def test_no_read_gets_past_with_a_refused_word_in_the_place_of_a_clause(parts: list[str], join: str) -> None:
    text = "MATCH (n) " + join.join(parts)
    try:
        allowed = allowed_cypher(text)
    except StatementError:
        return
    # A plain reading: strings, names in backticks and comments gone, each word with what stands before and after it.
    plain = re.sub(r"'[^']*'|`[^`]*`", " 0 ", allowed)
    for match in re.finditer(r"[A-Za-z_]+", plain):
        if match[0].upper() in REFUSED:
            before, after = plain[: match.start()].rstrip()[-1:], plain[match.end() :].lstrip()[:1]
            assert before in (".", ":", "|") or (before in "{," and after == ":"), text
    assert ";" not in plain
    assert "/*" not in plain


@settings(max_examples=200, deadline=None)
@example(f"MATCH (n:{'A|' * 4_900}B) RETURN n")
@given(st.text(max_size=60) | st.text("MATCHRETUNnx (){}[]'\"`\\/*;:.$u0027", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        allowed = allowed_cypher(text)
    except StatementError:
        return
    assert allowed_cypher(allowed) == allowed
