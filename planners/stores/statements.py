"""What of Cypher a model may ask: allow-lists of words and functions, checked before any engine sees the text.

A text is taken apart into tokens; what cannot be read is refused. Refused are words that change a graph or lead to files, networks, other
graphs, schemas, settings and procedures, and functions that are not on the list. What goes to the engine is made from the tokens, without
comments. Engines guard too: they open graphs so that nothing can write.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ontology.errors import StatementError
from planners.stores.property_graph import check_characters

MAX_STATEMENT = 50_000  # characters of a statement: ten times the longest that our writers produced
# Brackets in brackets, and NOT or signs in a row: the parsers of the engines recurse on them
_MAX_DEPTH, _MAX_PREFIXES = 40, 20
_MAX_TOKENS = 10_000
_MAX_ALTERNATIVES = 100  # labels or types with ``|`` between them; words beyond are no names
# A bound of ``range``: a list of that length takes Ladybug 10 ms; one of 10⁹ members took all memory
_MAX_RANGE = 100_000
_CLOSING = {")": "(", "]": "[", "}": "{"}

TokenKind = Literal["word", "quoted", "string", "number", "parameter", "symbol"]


@dataclass(frozen=True, slots=True)
class StatementToken:
    """A token: its text (of quoted names without their backticks), place in characters, and how many brackets stand open before it."""

    kind: TokenKind
    text: str
    start: int
    end: int
    depth: int

    @property
    def word(self) -> str:
        """The text in capitals where it is a plain word, else empty."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def is_name(self) -> bool:
        """Whether it is a name of Cypher, quoted or not."""
        return self.kind in ("word", "quoted")

    def symbol(self, *texts: str) -> bool:
        """Say whether it is one of these symbols."""
        return self.kind == "symbol" and self.text in texts


Tokens = Sequence[StatementToken]


# Of openCypher, what Neo4j 5 or Ladybug 0.22 know and what neither writes, reads files, opens connections, changes schemas or settings, nor
# builds texts or lists of any size from a number.
_STARTS = frozenset({"MATCH", "OPTIONAL", "WITH", "UNWIND", "RETURN"})
_WORDS = _STARTS | frozenset(
    """WHERE ORDER SKIP LIMIT UNION ALL AND AS ASC ASCENDING BY CASE CONTAINS COUNT DESC DESCENDING DISTINCT ELSE END ENDS EXISTS FALSE IN
    IS NOT NULL ON OR STARTS THEN TRUE WHEN XOR TRAIL ACYCLIC SHORTEST""".split()
)
# Words of statements that change the graph or its engine, or leave it. As labels, types and properties they are names.
REFUSED = frozenset(
    """CREATE MERGE SET REMOVE DELETE DETACH ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT COMMENT COMMIT COPY CSV DETACHED DROP DUMP EXPLAIN
    EXPORT EXTENSION FINISH FOREACH FORCE GRANT DENY REVOKE IMPORT INSERT INSTALL LOAD MACRO PROFILE ROLLBACK SHOW START STOP TERMINATE
    UNINSTALL UPDATE USE YIELD""".split()
)
_FUNCTIONS = frozenset(
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
_CYPHER = re.compile(
    r"""
    (?P<space> [ \t\r\n\f]+ | //[^\r\n]* | /\*.*?\*/ )
  | (?P<string> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
  | (?P<quoted> `(?:[^`]|``)+` )
  | (?P<number> (?:\d+\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w]) )
  | (?P<parameter> \$\w+ )
  | (?P<word> [^\W\d]\w* )
  | (?P<symbol> \.\. | <> | <= | >= | =~ | \+= | \|\| | /(?!\*) | [-+*%^=<>()\[\]{},.:;|] )
    """,
    re.VERBOSE | re.DOTALL,
)
_HIDDEN_QUOTE = re.compile(r"(?<!\\)\\+u+(?:0022|0027|005c|0060)", re.IGNORECASE)


def quoted_text(text: str) -> str:
    """Return a text as a Cypher string."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r") + "'"


def quoted_name(name: str, dialect: Literal["ladybug", "bolt"] = "ladybug") -> str:
    """Return a label, type or property as a Cypher name in backticks.

    Neo4j decodes ``\\uXXXX`` before it reads the text: so for Bolt a backslash is written as its own code.
    """
    escaped = name.replace("\\", "\\u005C") if dialect == "bolt" else name
    return f"`{escaped.replace('`', '``')}`"


def _cypher(problem: str, remedy: str) -> StatementError:
    return StatementError(problem, subject="Cypher", remedy=remedy)


def _tokens(text: str) -> list[StatementToken]:
    """Return the tokens of a text, without comments."""
    if len(text) > MAX_STATEMENT:
        raise _cypher(f"the statement has more than {MAX_STATEMENT:,} characters", "Split it")
    check_characters(text, "the Cypher statement")
    if found := _HIDDEN_QUOTE.search(text):
        problem = f"an escape stands for a quote or the end of a line: {found[0]}"
        raise _cypher(problem, "Write the character itself")
    tokens: list[StatementToken] = []
    opened: list[str] = []
    at = 0
    while at < len(text):
        match = _CYPHER.match(text, at)
        if match is None:
            if text[at] in "'\"`":
                problem, remedy = (
                    f"a quote {text[at]} is not closed",
                    "Close it; write a quote in a string as \\' or \\\"",
                )
            elif text.startswith("/*", at):
                problem, remedy = "a comment is not closed", "Leave comments out"
            else:
                problem = f"the character {text[at]!r} at {at} has no place in Cypher"
                remedy = "Unequal is <>" if text[at] == "!" else "Leave it out; write odd names in backticks"
            raise _cypher(problem, remedy)
        kind, token, at = match.lastgroup, match[0], match.end()
        if kind == "space":
            continue
        if kind == "symbol" and token in _CLOSING and (not opened or opened.pop() != _CLOSING[token]):
            raise _cypher(f"a bracket {token} closes none", "Write brackets in pairs")
        name = token[1:-1].replace("``", "`") if kind == "quoted" else token
        tokens.append(StatementToken(kind, name, match.start(), at, len(opened)))  # type: ignore[arg-type]
        if kind == "symbol" and token in _CLOSING.values():
            opened.append(token)
        if len(opened) > _MAX_DEPTH:
            raise _cypher(f"more than {_MAX_DEPTH} brackets stand in one another", "Write several statements")
    if opened:
        raise _cypher(f"a bracket {opened[-1]} is not closed", "Write brackets in pairs")
    return tokens


def allowed_cypher(text: str) -> str:
    """Check a query, and return what may go to the engine: without comments and the closing semicolon. Raises
    StatementError when something is not on the list; the problem is written for whoever wrote the query."""
    tokens = _tokens(text)
    if tokens and tokens[-1].symbol(";"):
        del tokens[-1]
    if not tokens:
        raise _cypher("the statement is empty", "Write one")
    if len(tokens) > _MAX_TOKENS:
        raise _cypher(f"the statement has more than {_MAX_TOKENS:,} words and signs", "Split it")
    if tokens[0].word not in _STARTS | REFUSED:
        problem = f"a statement cannot start with {tokens[0].text[:40]!r}"
        raise _cypher(problem, f"Start with {', '.join(sorted(_STARTS))}")
    run = 0
    for at, token in enumerate(tokens):
        run = run + 1 if token.word in ("NOT", "CASE") or token.symbol("-", "+") else 0
        if run > _MAX_PREFIXES:
            raise _cypher(f"more than {_MAX_PREFIXES} NOT or signs stand in a row", "Leave them out")
        is_free, before = not _is_name_place(tokens, at), tokens[at - 1] if at else None
        if token.symbol(";"):
            raise _cypher("several statements stand in one text", "Give them one by one")
        if is_free and token.word in REFUSED:
            problem = f"{token.word} changes the graph or leaves it, and this is a query"
            raise _cypher(problem, f"Read with MATCH and RETURN; quote a name as `{token.text}`")
        if before and _is_operand(tokens, at) and (_is_operand(tokens, at - 1) or before.symbol(")", "]", "}")):
            raise _cypher(f"{token.text[:40]!r} cannot follow {before.text[:40]!r}", "Use clauses of openCypher")
        if token.is_name and _next_is(tokens, at, "(") and not (is_free and token.word in _WORDS):
            _check_function(tokens, at)
        if token.symbol(":") and at >= 2 and tokens[at - 1].is_name and tokens[at - 2].symbol(":"):
            # (n:A:B) means all of them to one engine, and any of them to another.
            raise _cypher("a node has one label", "Use :A or, to match any of several, :A|B")
    return "".join(
        (" " if at and token.start > tokens[at - 1].end else "") + text[token.start : token.end]
        for at, token in enumerate(tokens)
    )


def _is_name_place(tokens: Tokens, at: int) -> bool:
    """Say whether a token can only be a label, a type, a property or the key of a map."""
    for _ in range(_MAX_ALTERNATIVES):
        if not at or not tokens[at - 1].symbol("|"):
            break
        if at < 3 or not tokens[at - 2].is_name:
            return False
        at -= 2
    if not at:
        return False
    before = tokens[at - 1]
    if before.symbol(":", "."):
        return True
    return before.symbol("{", ",") and _next_is(tokens, at, ":") and tokens[at].depth > 0


def _closing(tokens: Tokens, at: int) -> int:
    """Return the place of the bracket that closes the one at ``at``."""
    depth = tokens[at].depth
    places = range(at + 1, len(tokens))
    return next(place for place in places if tokens[place].depth == depth and tokens[place].symbol(")", "]", "}"))


def _next_is(tokens: Tokens, at: int, *symbols: str) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].symbol(*symbols)


def _is_operand(tokens: Tokens, at: int) -> bool:
    """Say whether a token is a value or a name: two of these in a row belong to a clause that is not on the list."""
    token = tokens[at]
    return token.kind != "symbol" and (token.word not in _WORDS or _is_name_place(tokens, at))


def _check_function(tokens: Tokens, at: int) -> None:
    name = tokens[at].text
    if at and tokens[at - 1].symbol("."):
        raise _cypher(f"the function …{name[:40]} has a dotted name", "Use functions of openCypher")
    if name.lower() not in _FUNCTIONS:
        problem = f"the function {name[:40]} is not on the list"
        raise _cypher(problem, "Use functions of openCypher that compute values")
    if name.lower() != "range":
        return
    place, end = at + 2, _closing(tokens, at + 1)
    while place < end:  # bounds are small numbers, or sizes: it builds the whole list
        token = tokens[place]
        if token.word == "SIZE" and tokens[place + 1].symbol("("):
            place = _closing(tokens, place + 1)
        elif not token.symbol("-", "+", ",") and not (token.text.isdecimal() and int(token.text) <= _MAX_RANGE):
            problem = f"a bound of range is neither a number up to {_MAX_RANGE:,} nor a size"
            raise _cypher(problem, "Write the number")
        place += 1
