"""The Cypher that a model may write: what is admitted, what is refused, and that no disguise changes it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ontology.errors import StatementError
from planners.stores.statements import MAX_STATEMENT, REFUSED, allowed_cypher

READS = [
    'MATCH (e:Employee {name: "Bob"})-[:WORKS_IN]->(d)<-[:WORKS_IN]-(c:Employee) WHERE c.name <> "Bob" RETURN c.name',
    "MATCH (c:Call {load: 1}) WHERE c.call = 'LOAD FROM' RETURN c.copy, count(*) AS n ORDER BY n DESC SKIP 1 LIMIT 3;",
    "MATCH p=(a:A)-[:R|LOAD*1..3]->(b) RETURN length(p), nodes(p)",
    "MATCH (n) WHERE NOT EXISTS { MATCH (n)-[:R]->(:B) } RETURN DISTINCT n",
    "MATCH (n) RETURN n /* LOAD */ // CALL x",
    "UNWIND range(0, size([1, 2])) AS i RETURN i, CASE WHEN i > 1 THEN 'a' ELSE 'b' END AS x, {a: 1} AS m",
    "MATCH (a:A|B) OPTIONAL MATCH (a)-[r]-(c) WITH a, collect(c.name) AS l WHERE size(l) > 1 RETURN a.x UNION ALL MATCH (b) RETURN b.x",
    "MATCH (n:`LOAD CSV`) RETURN n.`x y`, $p, -1.5e3",
]
WRITING = [
    "CREATE (a:Author {name: 'x'})-[:WROTE {year: 1}]->(:Book)",
    "MERGE (a:X {n: 1}) ON CREATE SET a.y = 1 ON MATCH SET a.y = 2",
    "MATCH (a:A), (b {n: 1}) CREATE (a)-[:R]->(b)",
    "MATCH (a:A) DETACH DELETE a",
    "MATCH (a)-[r:R]->() DELETE r",
    "MATCH (a:A) SET a += {x: 1}, a.y = 2 REMOVE a.z",
    "MATCH (n:A) WITH n AS m, 1 AS k DETACH DELETE m",
]
REFUSED_TEXTS = [
    "LOAD FROM '/etc/passwd' RETURN *",
    "LOAD CSV FROM 'file:///etc/passwd' AS l RETURN l",
    "MATCH (n) WITH n LOAD CSV FROM 'file:///etc/passwd' AS l RETURN l",
    "MATCH (n) lOaD/**/FROM 'x' RETURN *",
    "MATCH (n) RETURN n UNION LOAD FROM 'x' RETURN *",
    "COPY Author TO 'x.csv'",
    "ATTACH 'x.db' AS y (dbtype duckdb)",
    "INSTALL httpfs",
    "EXPORT DATABASE 'x'",
    "CALL dbms.listConfig()",
    "MATCH (n) CALL db.labels() YIELD label RETURN label",
    "WITH * CALL { MATCH (n) DETACH DELETE n } RETURN 1",
    "USE other MATCH (n) RETURN n",
    "EXPLAIN MATCH (n) RETURN n",
    "BEGIN TRANSACTION",
    "CREATE NODE TABLE X(a INT64, PRIMARY KEY (a))",
    "CREATE CONSTRAINT x FOR (n:A) REQUIRE n.x IS UNIQUE",
    "CREATE OR REPLACE DATABASE x",
    "DROP TABLE X",
    "MATCH (n) RETURN n; DROP TABLE X",
    "MATCH (n) RETURN apoc.load.json('http://127.0.0.1/')",
    "MATCH (n) RETURN `apoc`.`load`.json('x')",
    "MATCH (n) RETURN `load_file`('x')",
    "RETURN nextval('_keys')",
    "MATCH (n:A:B) RETURN n",
    "MATCH (n:A) SET n:B",
    "MATCH (n:A) FOREACH (x IN [1] | SET n.y = x)",
    "RETURN range(1, 1000000000)",
    "RETURN range(1, 10 * 10)",
    "MATCH (n) UNWIND range(1, (n.x)) AS i RETURN i",
    r"RETURN 'a\u0027 LOAD CSV FROM \u0027x'",
    r"MATCH (n:`a\u0060) LOAD CSV`) RETURN n",
    "RETURN 'not closed",
    "RETURN (1",
    "MATCH (n) RETURN n /* not closed",
    "MATCH (n) WHERE n.x != 1 RETURN n",
    "RETURN " + "(" * 100 + "1" + ")" * 100,
    "RETURN " + "NOT " * 100 + "true",
    "RETURN '" + "x" * MAX_STATEMENT + "'",
    "",
    "/* nothing */",
]


@pytest.mark.parametrize("text", READS)
def test_reads_are_admitted(text: str) -> None:
    allowed = allowed_cypher(text)
    assert "/*" not in allowed
    assert "//" not in allowed
    assert not allowed.endswith(";")


@pytest.mark.parametrize("text", [*WRITING, *REFUSED_TEXTS], ids=lambda text: text[:40])
def test_what_is_not_on_the_list_is_refused(text: str) -> None:
    with pytest.raises(StatementError) as fault:
        allowed_cypher(text)
    assert fault.value.remedy
    assert text not in WRITING or "changes the graph" in fault.value.problem


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
