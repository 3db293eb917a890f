"""Cues: what a request's words say of the order, the dependence and the conditions of what it asks for."""

from __future__ import annotations

import re

__all__ = ["conditions", "dependences", "refers_back", "sequences", "sets_apart"]

_SEQUENCE = re.compile(
    r"""(?<!\bby\s)(?<!\buntil\s)(?<!\btill\s)(?<!\bsince\s)(?<!\bback\s)(?<!\bfrom\s)(?<!\beven\s)\bthen\b(?=,?\s+\w)(?!\s+there(?:[\'’]s|\s+(?:is|are)))
    |\bafter\s+(?:that|this|which)\b(?!\s+(?:date|day|week|month|year|point|meeting|deadline))
    |\bafter\s+(?:you|you['’]ve|doing)\b|\bafter(?:wards?)\b
    |(?<!['’]m\s)(?<!\bam\s)(?<!\bare\s)(?<!\bis\s)\bafter\s+(?!meeting|morning|evening|training|briefing|opening|closing|planning|spring|king|working)\w{2,}ing\b
    |(?<!['’]m\s)(?<!\bam\s)(?<!\bare\s)(?<!\bis\s)\bafter\s+(?:it|they|he|she|the|this|my|our|his|her)\b[^,.;?!]{0,40}?(?:['’]s|\s(?:is|are|has|have|was|were|gets))\s+(?:been\s+)?\w+(?:ed|en|wn|ne|de|nt|lt|id|ot|up|through)\b
    |(?<!\bat\s)\bonce\b(?!\s+(?:\w+\s+){1,3}(?:was|were|had)\b)(?!\s+(?:a|an|per|more|again|every|in|or|daily|weekly|monthly|upon|and\s+for)\b)(?=\s+\w)
    |\bas\s+soon\s+as\b(?!\s+(?:possible|you|practical))|\bthe\s+(?:moment|minute|second)\s+(?:that|it|you|he|she|they)\b
    |(?<!\bthe\s)(?<!\bat\s)(?<!\bof\s)(?<!\bour\s)(?<!\bmy\s)(?<!\bon\s)(?<!\bwho\s)\bfirst\s*(?=[,.;]|and\b|before\b|$)|\bfirst(?:ly|\s+of\s+all|\s+off|\s+up)\b
    |(?:^|[.;!?]\s*|,\s*(?:and\s+)?)(?:next|finally|lastly|secondly|subsequently|thereafter|step\s+\d)\b[,:]?\s+(?!week|month|quarter|year|day|mon|tue|wed|thu|fri|sat|sun|time|to\b)\w
    |\bbefore\s+(?:you|doing)\b(?!\s+(?:ask|go\s+home))|\bbefore\s+(?!meeting|morning|evening|training|opening|closing|working)\w{2,}ing\b
    |\b(?:followed\s+by|subsequently|thereafter|in\s+that\s+order|in\s+this\s+order|one\s+after\s+the\s+other)\b
    |\bwhen\s+(?:that|it|this|you|they|those)(?:['’](?:s|re|ve)|\s+(?:is|are|has|have))?\s+(?:been\s+)?(?:all\s+)?(?:done|finished|complete[d]?|ready|through|in\s+place|set\s+up|created|sorted|found|there)\b
    |\bwith\s+that\s+(?:done|sorted|in\s+hand|out\s+of\s+the\s+way)\b|\bhaving\s+(?:done|checked|found|got)\b""",
    re.VERBOSE,
)
_FIRST_DO = re.compile(r"(?:^|[.;!?:]\s*|\b(?:please|pls)\s+)first\s+(?P<verb>[a-z]+)")
_DEPENDENCE = re.compile(
    r"""\b(?:based|building|going)\s+(?:up)?on\b(?!\s+(?:holiday|leave|in\b|vacation))|\bon\s+the\s+basis\s+of\b|\bdepending\s+on\b|\baccordingly\b
    |\b(?:use|using|with|from|out\s+of|for|of|against|in|into|by|on|to|by\s+means\s+of)\s+(?:the\s+(?:result|results|resulting|outcome|answer|output|latter)|whatever|whichever|whoever)\b
    |\b(?:use|using|with|from|out\s+of)\s+(?:it|that|those|these|them|there|this)\b(?!\s+(?:week|month|quarter|year|morning|afternoon|evening|time|address|\w+\s+as\b))
    |\b(?:with|by|under|using)\s+(?:its|their|his|her|that|the)\s+(?:new\s+)?(?:number|id|reference|code|name|details?)\b
    |\bthe\s+(?:result|results|resulting|outcome)\b|\b(?:whichever|whoever|whatever)\b
    |\bso\s+(?:that\s+)?(?:you|we|i)\s+can\b|\bto\s+see\s+(?:who|which|what|if)\b.*\band\b""",
    re.VERBOSE,
)
_BACK = re.compile(
    r"""\b(?:it|its|them|they|their|theirs|those|these|him|his|her|hers|each\s+of|the\s+same|the\s+former|the\s+latter|there|such)\b
    |\b(?:that|this)\s+(?:one|\w+)\b|\b(?:that|this)\b(?=\s*(?:[,.;!?]|$|to\b|for\b|as\b|with\b|by\b|on\b|in\b|into\b|up\b|over\b))
    |\bthe\s+(?:new|found|resulting|created|said|first|second|last|top|best|one|ones|cheap\w*|right|matching|relevant|corresponding|above|[a-z]{2,}est|earliest|most|least)\b
    |\bwho(?:ever|soever)\b|\bwhichever\b|\bwhatever\b|\b(?:a|an)\s+\w+\s+(?:from|of)\s+(?:it|them|those|that)\b""",
    re.VERBOSE,
)
_APART = re.compile(
    r"\b(?:also|separately|as\s+well(?!\s+as\b)|in\s+addition|additionally|besides|on\s+top\s+of\s+that|another\s+thing|one\s+more\s+thing|"
    r"while\s+(?:you(?:['’]re|\s+are)|we(?:['’]re|\s+are)|i\s+have\s+you|i['’]ve\s+got\s+you)|unrelated(?:ly)?|different\s+topic|other\s+than\s+that|"
    r"apart\s+from\s+that|at\s+the\s+same\s+time|in\s+parallel|independently|meanwhile)\b"
)
_IF = re.compile(r"\bif\b")
_ASKING_BEFORE = re.compile(
    r"(?:\b(?:know|wonder|wondering|tell\s+(?:me|us)|ask|asks|asking|sure|curious|unclear|clear|say|says|great|nice|good|lovely|brilliant|"
    r"helpful|grateful|glad|happy|mind|kind|appreciated?|appreciate\s+it|what|as|even|matter|ok|okay|fine|cool|idea|unsure|remember|awesome|wonderful|perfect|easier|best|better|doubt)\b"
    r"|\b(?:see|check|verify|confirm|find\s+out|figure\s+out|look\s+up|look|determine|double-check|doublecheck|make\s+sure|learn|understand|clarify|test|establish|show\s+me|let\s+(?:me|us)\s+know)\b"
    r"(?:\s+(?!if\b)[\w'’]+){0,3})[,\s]*$"
)
_POLITE_AFTER = re.compile(
    r"\s*(?:,?\s*(?:possible|poss|convenient|feasible|practical|applicable|required|necessary|needed|need\s+be|at\s+all|any\b(?=\s*(?:[.,;?!)]|$))|anything|"
    r"only\s+(?:i|we)\b|memory\s+serves|nothing\s+else|in\s+doubt)\b"
    r"|you\s+(?:can|could|would|will|please|don['’]?t\s+mind|do\s+not\s+mind|wouldn['’]?t\s+mind|have|get|got|want|like|need|are\s+able|manage|happen|know|wish|prefer|ask|haven['’]t|fancy|must|may)\b"
    r"|(?:i|we)\s+(?:may|might|remember|recall|understand|['’]?m\s+not|am\s+not|haven['’]t|didn['’]t\s+get|read|got)\b|i['’]m\s+(?:not|right|correct)\b"
    r"|(?:that|it|this)(?:['’]?s|\s+is|\s+isn['’]?t|\s+works?|\s+helps?|\s+suits)\s*(?:(?:not\s+)?(?:too|all|still|even)\s+)?(?:ok|okay|fine|alright|right|possible|convenient|easy|easier|good|cool|much|no\s+trouble|trouble|a\s+(?:bother|problem)|for\s+you|with\s+you|you|me)\b"
    r"|(?:that|it)\s+(?:helps|suits|works)\b)"
)
_OTHER_CONDITIONS = re.compile(
    r"""\bunless\b(?!\s+(?:i['’]?m\s+mistaken|i\s+am\s+mistaken|i\s+missed|you\s+(?:object|disagree|know)))
    |(?<!\bjust\s)\bin\s+case\b(?!\s+(?:0+(?!0|\s+(?:is|was|has|had|isn|hasn|wasn|does|doesn|shows|still|should|can)\b)|you|anyone\s+asks|i\s+forget|of\s+(?:questions|doubt)|\w+\s+(?:asks|wonders)))
    |\b(?:provided|providing|assuming|supposing|presuming)\s+(?=that\b|the\b|an?\b|my\b|our\b|his\b|her\b|their\b|its?\b|it['’]s|he\b|she\b|they\b|there\b|we\b|i\b|you\b|nobody\b|nothing\b|no\b|none\b|all\b|this\b|each\b|every\b|enough\b|at\b|0|[a-z]+['’]s\b|\w+\s+(?:is|are|has|have|does|was|were|isn|hasn)\b)
    |(?<!\bhow\s)\b(?:as|so)\s+long\s+as\b(?!\s+(?:possible|it\s+takes|you\s+(?:can|like|want)))|\bon\s+(?:the\s+)?condition\b|\bin\s+the\s+event\s+(?:that|of|an?|the|any\w*|some\w*|no\w*|it|he|she|they|there|we|i|you)\b
    |\b(?:later|earlier|more|less|fewer|higher|lower|below|above|over|under|still|not)\b[^.;?!]{0,50}(?:->|=>|→)
    |\bcontingent\s+on\b|\bdepending\s+on\s+(?:whether|if|how|what|the\s+outcome)\b|(?<!\bor\s)(?<!\btold\s)(?<!\bunless\s)\botherwise\b|\bor\s+else\b
    |\bin\s+(?:which|that)\s+case\b|\b(?:except|but\s+only|only|not)\s+when\b|\bonly\s+(?:where|while)\b|\bwhen\s+it\s+turns\s+out\b
    |\bwhether\b[^.;?!]*\bthen\b|\bin\s+the\s+case\s+that\b|\bfailing\s+(?:that|which)\b
    |(?:^|[,;.!–-]\s*|\band\s+|\bbut\s+)when(?:ever)?\s+(?:none|nobody|no\s+one|nothing|there(?:['’]s|\s+is|\s+are)\s+(?:no|not))\b
    |(?:^|[.!;]\s+)(?!(?:what|who|which|how|where|when|why|can|could|would|will|please|pls|show|hi|hey)\b)[^.?!;]*\?\s*(?:only\s+|and\s+)?then\b(?!\s+there)
    |(?:^|[,;.!]\s*|\band\s+|\bbut\s+)(?:when(?:ever)?|where)\s+(?!do\b|does\b|did\b|is\b|are\b|will\b|can\b|was\b|were\b)[^.,;?!]{0,60}\b(?:below|above|over|under|exceeds?|less\s+than|more\s+than|drops|falls|dropped|fell|at\s+least|fewer|greater|runs?\s+out)\b""",
    re.VERBOSE,
)
_SHOULD = re.compile(
    r"(?:^|[.;!?,]\s*|\b(?:and|but|or)\s+)should\s+(?!i\b|we\s+(?!find|see)|you\b(?!\s+find)|be\b|have\b|not\b)[^.;?!]{3,}(?P<end>[.;?!]|$)"
)
_SURE_IF = re.compile(r"\s*,?\s*(?:so|not|yes|no)\b")


_ORDER_WORDS = "then after once soon moment minute second first next finally lastly subsequently thereafter step before followed order other when with having".split()
_CONDITION_WORDS = "unless case provid assum suppos presum long condition event contingent depend otherwise else only when not whether fail where then > →".split()
"""Cheap to look for: without one of them there is no cue."""


def sequences(text: str) -> list[tuple[int, str]]:
    """Where words put what is asked for in an order (``then``, ``once``, ``before booking``); ``text`` in lower case."""
    if not any(word in text for word in _ORDER_WORDS):
        return []
    found = list(_SEQUENCE.finditer(text))
    found += [match for match in _FIRST_DO.finditer(text) if match["verb"] not in _AFTER_FIRST]
    return sorted((match.start(), match[0].strip(" ,.;!?:")) for match in found)


_AFTER_FIRST = frozenset(
    "quarter half week month day year thing name floor class time aid line of and or in on at to level shift five ten two three "
    "four six few available item one ones come batch draft choice invoice order payment version of".split()
)


def dependences(text: str) -> list[str]:
    """The words that say that one thing is made from another (``based on``, ``the result``, ``whoever``)."""
    return [match[0].strip() for match in _DEPENDENCE.finditer(text)]


def refers_back(clause: str) -> bool:
    """Whether a clause speaks of something said before it (``it``, ``the cheapest``, ``that order``)."""
    return _BACK.search(clause) is not None


def sets_apart(text: str) -> bool:
    """Whether the words say that something else is asked for beside the first (``also``, ``separately``)."""
    return _APART.search(text) is not None


def conditions(text: str) -> list[tuple[int, str]]:
    """Where conditions are stated on which something depends, with their words; polite and indirect ``if``s are none."""
    told = any(word in text for word in _CONDITION_WORDS)
    found = [(match.start(), match[0].strip(" ,.;!?")) for match in _OTHER_CONDITIONS.finditer(text)] if told else []
    found += [(match.start(), "if") for match in _IF.finditer(text) if _is_condition(text, match)]
    for match in _SHOULD.finditer(text) if "should" in text else ():
        if match["end"] != "?" or "," in match[0][1:]:
            found.append((match.start(), "should"))
    return sorted(found)


def _is_condition(text: str, match: re.Match[str]) -> bool:
    if _SURE_IF.match(text, match.end()):
        return True
    if _POLITE_AFTER.match(text, match.end()):
        return False
    before = text[max(0, match.start() - 60) : match.start()]
    clause = re.split(r"[.;!?]\s|,\s", before)[-1] if not before.rstrip().endswith(",") else ""
    return _ASKING_BEFORE.search(clause) is None
