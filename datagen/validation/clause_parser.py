"""Clauses: a request cut into what it asks for, by what its sentences and their parts begin with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ontology.names import is_noun, is_verb

__all__ = ["Clause", "clauses_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a request that begins with a want of its own, or a sentence that has none.

    :param kind: ``order``, ``question``, ``wish``, ``condition``, ``fragment``, ``statement`` or ``opening``.
    :param certain: false where the words can also be read as one want with the clause before.
    :param soft: how many other things the same clause may ask for: those joined by ``and`` without a verb.
    """

    text: str
    start: int
    end: int
    kind: str
    certain: bool
    soft: int

    @property
    def hints(self) -> bool:
        """Whether a statement may well ask for something (``for the party we'd need a buffet``)."""
        return self.kind == "statement" and (_HINT.search(self.text) is not None or "000" in self.text)

    @property
    def wants(self) -> bool:
        """Whether it asks for something by itself."""
        return self.kind in ("order", "question", "wish")


_HINT = re.compile(
    r"\b(?:please|pls|plz|(?:i|we)(?:['’]d|\s+would|\s+also|\s+still|\s+really)*\s+(?:need|want|like|love)|looking\s+for|needs?\s+(?:to|a|an|the|some|another|\d)|"
    r"(?:should|must|has\s+to|have\s+to|can|ought\s+to|may|could|is\s+to)\s+(?:be|go|get|come|have|read|say|show)|can\s+(?:you|someone|somebody)|could\s+you|would\s+(?:like|love)|wants?\s+to\s+(?:know|hear|see)|(?:is|are)\s+asking)\b"
)
_SENTENCE_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bno)(?<!\bmr)(?<!\bdr)(?<!\bms)(?<!\bst)(?<!\bvs)(?<!\bapprox)(?<!\betc)(?<!\bp\.s)[.](?=\s|$)|[?!;\n]+(?=\s|$)|\s[–—-]\s"
)
_JOIN = re.compile(
    r",?\s+(?:and|but|plus|then|also|so|&)\s+|,\s+(?:and\s+|but\s+|then\s+|also\s+|plus\s+)*|:\s+|\s+then\s+"
)
_OPENING = re.compile(
    r"""(?:(?:hi|hello|hey|hiya|dear|morning|good\s+(?:morning|afternoon))\b[\w\s]{0,15}?[,!.]?
    |thanks|thx|cheers|please|pls|plz|bitte|kindly|ok(?:ay)?|so|well|right|also|and|but|or|then|now|just|simply|quickly|quick(?:\s+(?:one|question))?:?|first(?:ly)?(?:\s+of\s+all|\s+off)?|secondly|thirdly
    |finally|lastly|next|afterwards|after\s+that|btw|by\s+the\s+way|oh|ah|um|hmm|separately|meanwhile|in\s+addition|additionally|(?:besides|apart\s+from|other\s+than|on\s+top\s+of|beyond)(?:\s+that)?|anyway|plus|ps|p\.s\.|otherwise|else|instead|again|maybe|perhaps|basically|actually
    |while\s+(?:you|we)(?:['’]re|\s+are)\s+(?:at\s+it|in\s+there|there|on\s+it|here|in\s+it)|if\s+(?:possible|you\s+can|you\s+could|you\s+don['’]?t\s+mind|you\s+have\s+(?:a\s+)?(?:minute|moment|time|sec|second|chance))
    |(?:can|could|would|will|may|cn)\s+(?:you|u|we|someone|somebody|anyone|i)(?:\s+(?:have|get)\s+(?:you|someone|somebody))?|(?:would|do)\s+you\s+mind|i(?:['’]?d|\s+would)?(?:\s+also|\s+still|\s+just|\s+really)*\s+(?:need|want|like|love)\s+(?:you\s+)?to|i(?:['’]ve|\s+have)?(?:\s+also|\s+still|\s+just|\s+really)*\s+(?:got|have|gotta|wish)\s+to|we\s+(?:need|want|have)\s+to
    |(?:just\s+)?(?:need|want|have|got|would\s+like|trying|time)\s+to|i['’]?m\s+trying\s+to|wanna|gotta|let['’]?s|go\s+(?:ahead\s+)?and|try\s+(?:to|and)|be\s+so\s+kind\s+(?:as\s+to|and)|help\s+(?:me|us)(?:\s+to)?(?=\s+\w+\s+\w)|make\s+sure\s+(?:to|you|that\s+you)|be\s+sure\s+to|don['’]?t\s+forget\s+to|remember\s+to|time\s+to
    |(?:it(?:['’]d|\s+would)\s+be|would\s+be)\s+\w+\s+if\s+you\s+(?:could|can)|i\s+(?:was\s+)?wonder(?:ing)?\s+if\s+you\s+(?:could|can)|(?:see\s+)?if\s+you\s+can|when\s+you\s+(?:can|get\s+a\s+chance|have\s+a\s+\w+)|you\s+can|you\s+should|to|both|either|two\s+things|three\s+things|for\s+me|asap|urgent(?:ly)?|today|tomorrow)[\s,:.!?–-]+""",
    re.VERBOSE,
)
_QUESTION = re.compile(
    r"(?:(?:who|what|when|where|why|how|which|whose|whom)(?:['’](?:s|re|ll|d)|s)?\b"
    r"|(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|isn['’]?t|aren['’]?t|doesn['’]?t|don['’]?t|hasn['’]?t|haven['’]?t|didn['’]?t|won['’]?t|can['’]?t)\s+"
    r"(?:i|you|we|he|she|it|they|there|the|a|an|any|anyone|anybody|anything|my|our|your|his|her|their|this|that|these|those|all|some|someone|somebody|everyone|everybody|nobody|people|employees|0+|[a-z]+(?=[^.;!]*\?))\b"
    r"|(?:on|at|in|for|by|from|to|until|since|under|with)\s+(?:what|which|whom|how)\b|(?:any|got\s+any)\s+(?:idea|chance|news|update|word)\b)"
)
_WISH = re.compile(
    r"(?:(?:i|we)(?:['’]d|['’]m|['’]re|['’]ve|\s+would|\s+am|\s+are|\s+also|\s+really|\s+still|\s+just|\s+urgently)*\s+(?:need|want|like|love|require|looking|after|wish|prefer|wonder|wondering|interested|curious|got)\b"
    r"|(?:need|want|looking\s+for|require|wondering|interested\s+in|requesting)\b)"
)
_SUBORDINATE = re.compile(
    r"(?:only\s+)?(?:if|unless|in\s+case|provided|providing|assuming|supposing|should|once|when|whenever|after|as\s+soon\s+as|as\s+long\s+as|so\s+long\s+as|before|in\s+the\s+event|depending\s+on|on\s+condition|based\s+on|since|because|as)\b"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|isn['’]?t|aren['’]?t|wasn['’]?t|hasn['’]?t|haven['’]?t|did|does|do|didn['’]?t|doesn['’]?t|don['’]?t|needs?|wants?|got|went|came|keeps?|says?|will|can|can['’]?t|won['’]?t|must|should|looks?|seems?|starts?)\b|['’](?:s|ve|m|re)\b(?=\s+\w+(?:ed|ing|en)\b)"
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_OBJECT = frozenset(
    "a an the my our your his her their its this that these those all any every each some it them him me us up out down back off in on "
    "over whatever who whoever what which how where when why if whether everything everyone everybody anything something someone somebody "
    "both another more no one two three both half both to for with from at into about through around away as you myself there here".split()
)
_DETERMINERS = frozenset(
    "a an the my our your his her their its this that these those all any every each some it them him me us what which who how whether "
    "everything everyone everybody anything something someone somebody another whoever whatever myself there both".split()
)
_STRONG = frozenset(
    """add adjust approve arrange ask assign attach award block book bring bump calculate call cancel change check close compare
    confirm convert create cut decline delete deliver dig display draft drop edit email enrol enroll enter escalate explain
    extend fetch file fill find fix flag forward get give grab grant hand hire inform invite issue keep kick let list log look mail
    make mark message move notify nudge open order pay pick ping place post prepare pull put raise read reassign rebook
    record refund register reject release remind remove rename renew reply report request reschedule resend reserve reset resolve
    return reverse review revoke run save schedule scrap see send set shift ship show shut sign sort split start stick
    stop submit swap take tell terminate throw track transfer translate turn unblock unlock update upload verify void withdraw write
    wake sign-off chase organise organize hold decide determine switch tidy settle scan""".split()
)
_ADJECTIVES = frozenset(
    "own clean open clear dry free slow complete correct direct perfect secure separate double live present warm cool tidy close welcome "
    "near mean like live better empty busy due sick last past".split()
)
"""Verbs that are as often adjectives."""
_BARE_NEED = re.compile(r"\s*(?:need|want|wondering|required?)\b(?!.*\b(?:also|too|as\s+well)\b)")
"""In a later sentence, more often why something was asked for than another thing."""
_HAVE_DONE = re.compile(
    r"have\s+(?:it|them|this|that|him|her|the\s+\w+|someone|somebody|\w+)\s+(?:\w+ed|sent|done|made|put|look|check|call|come|go|fix|brought|taken|set|cut|back)\b"
)
_RECORDS = frozenset(
    "order report request quote record claim issue post list return change review transfer call check mail file note contract project "
    "ticket process shift run log".split()
)
"""Verbs that as nouns stand before a number: ``order 4711``."""
_EMBEDDING = re.compile(
    r"\b(?:tell|show|see|check|know|explain|remind|find|wonder|wondering|ask|say|understand|look|give)\b"
)
_AND_NOUN = re.compile(r"(?:,\s*|\s+)(?:and|plus|as well as|along with|together with|&)\s+(?P<rest>[^,.;?!]+)")
_BETWEEN = re.compile(r"\b(?:between|both|from)\s+[^,.;?!]{1,30}$")


def clauses_of(text: str) -> tuple[Clause, ...]:
    """The clauses of a request in its order; ``text`` in lower case, its quotes, addresses and identifiers masked."""
    return tuple(clause for start, sentence in _sentences(text) for clause in _cut(sentence, start))


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for match in _SENTENCE_END.finditer(text):
        yield at, text[at : match.end()]
        at = match.end()
    yield at, text[at:]


def _cut(sentence: str, offset: int) -> Iterator[Clause]:
    if not _WORD.search(sentence):
        return
    starts: list[tuple[int, str, bool]] = []
    listed = sentence.find(": ")
    subordinate = _begins_subordinate(sentence)
    starts.append((0, "condition" if subordinate else _kind(sentence, 0, joined=False), True))
    expected = subordinate
    for join in _JOIN.finditer(sentence):
        kind = _kind(sentence, join.end(), joined=not expected)
        if not kind:
            continue
        before = starts[-1][1]
        if _skip_opening(sentence, starts[-1][0]) >= join.end() or not _says(sentence[starts[-1][0] : join.start()]):
            starts[-1] = (starts[-1][0], kind, starts[-1][2])
            continue
        certain = not (
            kind == "question" and before == "order" and _EMBEDDING.search(sentence[starts[-1][0] : join.start()])
        )
        starts.append((join.end(), kind, certain))
        expected = False
    if expected and len(starts) == 1:
        starts.extend(_main_clause(sentence))
    if not starts[0][1]:
        alone = _without(sentence) if len(starts) == 1 else _leads(sentence[: starts[1][0]])
        starts[0] = (0, alone, True)
    ends = [start for start, _, _ in starts[1:]] + [len(sentence)]
    for (start, kind, certain), end in zip(starts, ends, strict=True):
        part = sentence[start:end]
        certain = certain and not (kind == "wish" and offset > 0 and _BARE_NEED.match(part))
        yield Clause(
            text=part.strip(" ,"),
            start=offset + start,
            end=offset + end,
            kind=kind,
            certain=certain,
            soft=_soft(part, listed=0 <= listed < end),
        )


def _says(part: str) -> bool:
    """Whether more than words that open a clause stand there."""
    return not _OPENING.fullmatch(part.strip(" ,.:") + " ")


def _begins_subordinate(sentence: str) -> bool:
    at = _skip_opening(sentence, 0)
    match = _SUBORDINATE.match(sentence, at)
    if match is None:
        return False
    if match[0] in ("when", "should") and sentence.rstrip().endswith("?") and "," not in sentence:
        return False
    return True


def _main_clause(sentence: str) -> Iterator[tuple[int, str, bool]]:
    """What follows a condition without a comma: the first verb that begins an order."""
    previous = ""
    for match in _WORD.finditer(sentence):
        word = match[0]
        following = _WORD.match(sentence, match.end() + 1)
        told = following is not None and (
            following[0] in _DETERMINERS or following[0].startswith("0") or following[0].isdigit()
        )
        if word in _STRONG and told and previous not in _NO_ORDER_AFTER:
            yield match.start(), "order", True
            return
        previous = word
    comma = sentence.find(",")
    if comma > 0 and len(_WORD.findall(sentence[comma:])) > 1:
        yield comma + 1, "order", True


_NO_ORDER_AFTER = frozenset(
    "to can could will would should must may might i we you they he she the a an my our his her their your this that no not don't "
    "doesn't didn't won't can't please's if unless and or".split()
) - {"and"}


def _skip_opening(sentence: str, at: int) -> int:
    while at < len(sentence) and not (sentence[at].isalnum()):
        at += 1
    for _ in range(6):
        match = _OPENING.match(sentence, at)
        if match is None or match.end() >= len(sentence):
            return at
        at = match.end()
        while at < len(sentence) and not sentence[at].isalnum():
            at += 1
    return at


def _kind(sentence: str, at: int, *, joined: bool) -> str:
    """The kind of want that begins at a place, or empty."""
    begins = _skip_opening(sentence, at)
    opened = sentence[at:begins].strip(" ,.:-–")
    if _WISH.match(sentence, begins):
        return "wish"
    if _QUESTION.match(sentence, begins) and not (joined and _goes_on(sentence, at, begins)):
        return "question"
    return "order" if _orders(sentence, begins, joined=joined, opened=bool(opened)) else ""


def _goes_on(sentence: str, at: int, begins: int) -> bool:
    """Whether words that can begin a question go on with the clause before: no question mark ends the sentence."""
    if sentence.rstrip().endswith("?"):
        return False
    if re.match(r"(?:what|how|why)\b", sentence[begins:]):
        return False
    relative = re.match(r"(?:who|which|when|where|whose)\b", sentence[begins:]) is not None
    return not relative or sentence[:at].rstrip().endswith(",")


def _orders(sentence: str, at: int, *, joined: bool, opened: bool) -> bool:
    match = _WORD.match(sentence, at)
    if match is None:
        return False
    if _HAVE_DONE.match(sentence, at):
        return True
    word = match[0].partition("-")[0]
    following = _WORD.search(sentence, match.end())
    next_word = following[0] if following and not sentence[match.end() : following.start()].strip(" \"'“") else ""
    if not (is_verb(word) or word in _STRONG) or word in (
        "no",
        "may",
        "will",
        "might",
        "can",
        "must",
        "have",
        "be",
        "am",
        "is",
        "are",
        "thank",
        "thanks",
        "hope",
    ):
        return False
    if next_word in _DETERMINERS:
        return True
    if joined and not opened and word in _ADJECTIVES:
        return False
    if not is_noun(word):
        return bool(next_word)
    if joined and not opened:
        return word in _STRONG and bool(next_word) and (next_word in _OBJECT or not _noun_use(word, next_word))
    if word in _STRONG:
        return not _is_statement(sentence, at)
    return (next_word in _OBJECT or (opened and next_word != "")) and not _is_statement(sentence, at)


def _noun_use(word: str, next_word: str) -> bool:
    """``order 4711``, ``report number``: the word names what follows it, it does not order anything."""
    return (next_word[:1].isdigit() and word in _RECORDS) or next_word in (
        "id",
        "number",
        "no",
        "of",
        "status",
        "date",
        "for",
        "is",
        "are",
    )


def _is_statement(sentence: str, at: int) -> bool:
    words = list(_WORD.finditer(sentence, at))[1:6]
    if not words:
        return False
    head = sentence[words[0].start() : words[-1].end()]
    found = _FINITE.search(head)
    if found is None:
        return False
    # "tell me who is ..." has its verb in a clause of its own.
    return not (set(_WORD.findall(head[: found.start()])) & (_DETERMINERS | {"when", "where", "why", "if"}))


def _leads(part: str) -> str:
    """What stands before the first want of a sentence."""
    if _FINITE.search(part):
        return "statement"
    return "fragment" if len(_WORD.findall(part)) > 2 else "opening"


def _without(sentence: str) -> str:
    if sentence.rstrip().endswith("?") and len(_WORD.findall(sentence)) > 3:
        return "question"
    return "statement" if _FINITE.search(sentence) else "fragment"


def _soft(part: str, *, listed: bool) -> int:
    count = 0
    part = part[_skip_opening(part, 0) :]
    for match in _AND_NOUN.finditer(part):
        if len(_WORD.findall(match["rest"])) >= 2 and not _BETWEEN.search(part[: match.start()]):
            count += 1
    return count + (part.rstrip(" ,").count(", ") if count or listed else 0)
