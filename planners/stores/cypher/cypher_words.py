"""The words of Cypher that statements of a model may use: clauses, words within them, functions that only compute.

Clauses and functions are those of openCypher that Neo4j 5 or Ladybug 0.22 know and that neither read files, open
connections, change schemas nor settings, nor build texts or lists of any size from a number.
"""

from __future__ import annotations

__all__ = ["CLAUSES", "FUNCTIONS", "REFUSED", "STARTS", "WORDS", "WRITES"]

STARTS = frozenset({"MATCH", "OPTIONAL", "WITH", "UNWIND", "RETURN", "CREATE", "MERGE"})
"""Words that a statement can start with."""

WRITES = frozenset({"CREATE", "MERGE", "SET", "REMOVE", "DELETE", "DETACH"})
"""Words of clauses that change a graph."""

CLAUSES = STARTS | WRITES | {"WHERE", "ORDER", "SKIP", "LIMIT", "UNION", "ON"}
"""Words that a clause, or a part of one, starts with."""

WORDS = CLAUSES | frozenset(
    """ALL AND AS ASC ASCENDING BY CASE CONTAINS COUNT DESC DESCENDING DISTINCT ELSE END ENDS EXISTS FALSE IN IS NOT NULL OR
    STARTS THEN TRUE WHEN XOR TRAIL ACYCLIC SHORTEST""".split()
)
"""All words that are no names."""

REFUSED = frozenset(
    """ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT COMMENT COMMIT COPY CSV DETACHED DROP DUMP EXPLAIN EXPORT EXTENSION FINISH
    FOREACH FORCE GRANT DENY REVOKE IMPORT INSERT INSTALL LOAD MACRO PROFILE ROLLBACK SHOW START STOP TERMINATE UNINSTALL
    UPDATE USE YIELD""".split()
)
"""Words of statements that leave the graph or change its engine. As labels, types and properties they are names."""

FUNCTIONS = frozenset(
    """count sum avg min max collect stdev stdevp percentilecont percentiledisc
    id label labels type nodes rels relationships length startnode endnode start_node end_node is_trail is_acyclic
    coalesce exists size head last tail range reverse any all none single isempty
    list_contains list_has list_sort list_sum list_product list_distinct list_unique list_extract list_element list_slice
    list_concat list_transform list_filter list_reduce list_any_value list_to_string list_position len
    tointeger tofloat tostring toboolean tointegerornull tofloatornull tostringornull cast
    abs ceil ceiling floor round sqrt exp log log10 log2 ln sign pow power sin cos tan asin acos atan atan2 cot pi e radians
    degrees greatest least
    lower upper tolower toupper trim ltrim rtrim btrim left right substring replace split string_split contains starts_with
    ends_with prefix suffix regexp_matches regexp_extract regexp_extract_all regexp_full_match char_length
    character_length concat initcap
    date datetime localdatetime timestamp duration interval date_part datepart year month day date_diff
    shortestpath allshortestpaths""".split()
)
"""Functions, in small letters."""
