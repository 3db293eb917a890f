"""Signals that a sentence of a tool's document speaks to the model that reads it, or against the user: patterns with weights.

A sentence of a document tells what a tool does. What gives an instruction away is to whom it speaks (assistants, "you" as the one
who replies), about what (the conversation, its own reply, other tools, secrets), and how (secrecy, precedence over other rules,
authority, removed safeguards). No single one is proof: the weights of different signals in neighbouring sentences are added.

The patterns are matched against folded text (lower case). A pattern is tried only where a word begins with one of its anchors, and
every repetition in it has a limit, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.trust.signals_elsewhere import OTHER_LANGUAGES

__all__ = ["SIGNALS", "Signal"]


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of evidence in a sentence.

    :param weight: what it adds; 1 is enough for quarantine, see :mod:`ingest.trust.instructions`.
    :param anchors: beginnings of words, one of which a sentence must have; separated by ``|``.
    :param pattern: of a folded sentence.
    :param why: what it is evidence of.
    """

    name: str
    weight: float
    anchors: str
    pattern: re.Pattern[str]
    why: str


_AI = (
    r"(?:(?:the |any |all |every |this |your |an? |calling |connected |reading |most )?"
    r"(?:(?:ai|llm|gpt|virtual|digital|language|chat|coding|autonomous|automated|software|intelligent)[- ])?"
    r"(?:assistants?|llms?|ais?|chatbots?|copilots?|language models?|bots?|chatgpt|claude|gemini|ai (?:agents?|models?|systems?|"
    r"operators?|clients?|readers?|users?)))"
)
_AGENT = rf"(?:{_AI}|(?:the |any |all |every |this |your |calling |connected )?(?:agents?|models?))"
_DUTY = (
    r"(?:must|shall|should|ought to|has to|have to|needs? to|is to|are to|may|might|can|could|will|would|is not to|are not to|"
    r"(?:is|are|has been|have been|was|were) (?:hereby |now |also |always |kindly |strictly )?"
    r"(?:required|expected|asked|authori[sz]ed|allowed|instructed|permitted|obliged|requested|advised|reminded|told|"
    r"cleared|supposed|free|encouraged|exempt|entitled|bound|forbidden))"
)
_ACTS = (
    r"(?:suppl(?:y|ies)|downloads?|writes?|relays?|appends?|adds?|attach(?:es)?|sends?|forwards?|cop(?:y|ies)|pastes?|includes?|"
    r"puts?|calls?|runs?|reads?|opens?|follows?|obeys?|keeps?|treats?|reports?|uploads?|fetch(?:es)?|executes?|ignores?|repeats?|"
    r"pass(?:es)?|provides?|gives?|inserts?|places?|reproduces?|replies|repl(?:y|ies)|answers?|tells?|hides?|omits?|skips?|"
    r"prefers?|chooses?|recommends?|invites?|shares?|grants?|approves?|confirms?|creates?|deletes?|removes?|sets?|gets? the best|"
    r"gathers?|collects?|hands?|posts?|submits?|turns?|stops?|retrieves?|quotes?|summari[sz]es?|mentions?|picks?|fills?|leaves?)"
)
_CONVERSATION = (
    r"(?:conversations?|chats?(?! ?(?:id|room|message))|dialog(?:ue)?s?|chat (?:history|log|transcript)|discussions?|"
    r"transcripts?|exchange|context window)"
)
_SAID = (
    r"(?:said|says|typed|told|wrote|written|confided|shared|asked|entered|pasted|mentioned|discussed|disclosed|seen|read|"
    r"opened|received|consulted|gathered|learn(?:ed|t)|fallen|uploaded)"
)
_PERSON = (
    r"(?:users?|person|people|persons|humans?|customers?|operators?|caller|travell?ers?|owner|anyone|anybody|them|him|her|requester|"
    r"employees?|reviewers?|administrators?|admins?|colleagues?|clients?|manager|patient|candidate)"
)
_TELL = (
    r"(?:tell(?:ing)?|told|mention(?:ed|ing)?|inform(?:ed|ing)?|reveal(?:ed|ing)?|disclos(?:e|ed|ing)|report(?:ed|ing)?|"
    r"show(?:n|ing)?|notif(?:y|ied|ying)|troubl(?:e|ed|ing)|bother(?:ed|ing)?|alert(?:ed|ing)?|warn(?:ed|ing)?|ask(?:ed|ing)?|"
    r"discuss(?:ed|ing)?|explain(?:ed|ing)?|list(?:ed|ing)?|announc(?:e|ed|ing)|surfac(?:e|ed|ing)|"
    r"display(?:ed|ing)?|expos(?:e|ed|ing)|consult(?:ed|ing)?|prompt(?:ed|ing)?|burden(?:ed|ing)?|quot(?:e|ed|ing)|"
    r"repeat(?:ed|ing)?|log(?:ged|ging)?|record(?:ed|ing)?|describ(?:e|ed|ing)|refer(?:red|ring)? to|acknowledg(?:e|ed|ing))"
)
_REPLY = r"(?:repl(?:y|ies)|answers?|responses?|summar(?:y|ies)|output|final message|message to)"
_RULES = (
    r"(?:instructions?|rules?|polic(?:y|ies)|guidelines?|prompts?|restrictions?|safeguards?|guardrails?|directives?|directions|"
    r"orders|safety|refusals?|confidentiality|guidance|constraints?|system messages?|training)"
)
_DATA_MOVE = (
    r"(?:send|forward|upload|post|mail|e-?mail|transmit|relay|share|copy|paste|attach|append|include|insert|put|pass|leak|submit|"
    r"repeat|supply|report|export|hand over|add|encode|embed|reproduce|provide|write|give|quote|deliver)(?:s|ed|ing|es)?"
)
_SECRET = (
    r"(?:private keys?|api[ _-]?keys?|access[ _-]?tokens?|bearer tokens?|auth(?:entication|orization)? tokens?|session (?:ids?|"
    r"tokens?|cookies?)|cookies?|passwords?|pass ?phrases?|pass ?codes?|credentials?|secrets?|ssh keys?|seed phrases?|"
    r"recovery (?:codes?|phrases?|keys?)|one-time (?:codes?|passwords?)|otps?|cvc|cvv|card numbers?|connection strings?|"
    r"environment variables?|env vars?|licen[cs]e keys?|signing keys?|master keys?|log-?in data|tokens?|get_secrets?|"
    r"list_secrets|list_api_keys|2fa codes?|mfa codes?|social security numbers?)"
)
_TOOLS = r"(?:tools?|functions?|servers?|connectors?|plugins?|lookups?|checkers?|sources?|services?)"
_SAFEGUARD = (
    r"(?:approvals?|confirmations?|consent|review|logging|verification|permission|authori[sz]ation|authentication|"
    r"field-level security|asking|a second (?:look|signature|approval)|sign-off|audit(?:ing)?|checks?|checking|prompt(?:ing)?|warning|"
    r"dual control|questions?|justification|a reason|notice|further ado|hesitation|waiting)"
)


def _signal(name: str, weight: float, anchors: str, *patterns: str, why: str) -> Signal:
    return Signal(name, weight, anchors, re.compile("|".join(f"(?:{each})" for each in patterns)), why)


_ENGLISH = (
    _signal(
        "addressed",
        0.6,
        "ai|assistant|llm|chatbot|copilot|language|bot|chatgpt|claude|gemini",
        rf"\b{_AI}\b,? (?:\w+ly |also |then |first |always |never |kindly |do(?:es)? not |don't |just )?(?:{_DUTY}|{_ACTS})\b",
        rf"\b(?:for|to|note to|attention|dear|hello|hi|hint (?:for|to)|notice (?:for|to)|important (?:for|to)|reminder (?:for|to)|"
        rf"instructions? (?:for|to)|message (?:for|to)) (?:the |all |any |every )?{_AI}\s{{0,2}}[:,;)\]–—-]",
        rf"(?:^|[\n\[(<>*#\"'—–-] {{0,3}}){_AI}(?: only| note| hint| notice)?\s{{0,2}}[:)\]]",
        rf"\b(?:being|as|if you are|you are|you're|acting as) an? {_AI}\b",
        r"\b(?:by|through|from|via|to|with|of) (?:the|any|every|your) (?:calling |ai |viewing )?(?:assistant|llm|language model|"
        r"chatbot|ai)(?:s|'s)?\b",
        r"\b(?:ai|llm|assistant|agent|model)-(?:only|facing|hint|note|instructions?)\b",
        r"\bassistant, (?:please |stop|now )",
        why="it speaks to the assistant",
    ),
    _signal(
        "addressed-agent",
        0.5,
        "agent|model",
        r"\b(?:for|to|note (?:for|to)|attention|dear|hint (?:for|to)|notice (?:for|to)|important (?:for|to)|reminder (?:for|to)|"
        r"decode for|advice for|instructions? (?:for|to)) (?:the |all |any |every |your )?(?:agents?|models?)\b ?[:,;)\]–—-]",
        r"(?:^|[\n\[(<>*#\"'—–-] {0,3})(?:(?:the |all |any )?agents?|the model|models)(?: only| note| hint)?\s{0,2}[:)\]]",
        r"\(agents? (?:only|keep|must|should|note|please|may|do)\b",
        rf"\b(?:agents?|the model) (?:\w+ly |also |then |first |always |never )?(?:{_DUTY}) (?:not |never |always )?(?:\w+ly )?{_ACTS}",
        r"\bagents? (?:get the best|keep this|that (?:demonstrate|show|skip|list))",
        r"\b(?:agent|model)-only\b|\btext for the model\b",
        why="it speaks to the agent or the model",
    ),
    _signal(
        "conversation",
        0.5,
        "conversation|chat|dialog|discussion|transcript|exchange|context|user|everything|whatever|anything|said|told|system|turn|"
        "prompt|session|message|history",
        rf"\b(?:this|current|whole|entire|full|complete|ongoing|present|any|every|each|all|the|your) {_CONVERSATION} (?:so far|history|"
        r"with the|to date|up to|until|including|that|in which|touch|mention|turn)",
        rf"\b(?:this|current|whole|entire|ongoing|present) {_CONVERSATION}\b",
        rf"\b(?:in|of|from|during|with) (?:all|any|every|this|the current) (?:{_CONVERSATION}|session)\b",
        r"\bshould the (?:conversation|chat|dialogue?|discussion|user)\b",
        r"\b(?:conversation|dialogue?|chat|discussion|messages?) so far\b|\b(?:chat|conversation|dialogue?|message) history\b",
        r"\bthe user'?s? (?:last|latest|previous|recent|original|first|full|entire|complete|exact|own|verbatim|raw|whole|current|"
        r"unedited|earlier)\b(?: \w+){0,3} (?:messages?|prompts?|words|questions?|requests?|inputs?|text)",
        r"\buser(?:'s)? (?:messages?|prompts?|turns?|utterances?)\b|\bfirst user message\b",
        rf"\b(?:everything|anything|all|whatever|what|facts|details|files|notes|pages|documents|names|passages) (?:\w+ ){{0,2}}(?:the |a |your )?"
        rf"(?:users?|person|customer|they|he|she|you|human) (?:has |have |had |was |were |is |are |just |already |so far )*{_SAID}\b",
        r"\b(?:last|previous|earlier|prior|recent|latest) (?:\w+ ){0,2}(?:user messages?|prompts?|turns?|tool (?:results?|outputs?|calls?|"
        r"answers?))",
        r"\bsystem (?:prompt|message)s?\b|\b(?:every|each|this) turn\b|\blast_prompt\b|\btool results\b",
        r"\bin this (?:session|chat)\b|\bduring (?:the|this) session\b|\bthis session\b|\bcontext window\b|\bcopied from session\b",
        r"\byou (?:were told|have been told|have read|have seen|have opened|have received|know of|know about|remember|have access to)\b",
        why="it asks about the conversation",
    ),
    _signal(
        "conversation-moved",
        0.5,
        "send|sent|forward|upload|post|mail|transmit|relay|share|copy|copied|paste|append|include|insert|put|pass|submit|repeat|supply|supplie|"
        "report|add|encode|embed|reproduc|provid|give|quote|set|take|receiv|carr|hold|contain|fill|start|begin|verbatim|unabridged|full|word|digest|summary|collect|"
        "unredacted|dialog|conversation|user|everything|whole|entire|all",
        rf"\b(?:{_DATA_MOVE}|set to|takes?|receives?|carr(?:y|ies)|holds?|contain(?:s|ing)?|fill(?:ed)? (?:with|from)|starts? with|begins? with|summari[sz]e|collect)\b(?: \S+){{0,10}} "
        rf"(?:user(?:'s)? (?:\w+ ){{0,3}}(?:messages?|prompts?|words|questions?|input)|{_CONVERSATION}|so far|system prompt|has {_SAID}|first user|tool results?|"
        rf"(?:user|person|customer|you|they) (?:has |have |had |was |were )?(?:\w+ )?{_SAID})\b",
        r"\b(?:verbatim|word for word|unabridged|uncut|in full and|unshortened|letter for letter)\b",
        r"\b(?:dialogue?|conversation|chat|session) (?:so far|history|transcript|with the assistant|log)\b[^.]{0,60}\b(?:as|in|into|to)\b",
        r"\breceives? that call's\b|\b(?:arguments|result|results|answer|output) (?:and (?:the )?(?:arguments|result|results|answer|output) )?of (?:every|each|any|all) (?:other )?(?:tools?|calls?)\b",
        why="it has what was said copied",
    ),
    _signal(
        "your-reply",
        0.35,
        "your|its|you|whenever|every|each|in|from|out|once|when|as",
        r"\byour (?:(?:next|final|own|last|first) )?(?:reply|replies|answers?|responses?|summary|output|memory|instructions|system|prompt|training|"
        r"tools?\b(?! ?box)|reasoning|context|refusal|guidelines|other tools|thoughts?|conversation|user)\b",
        r"\b(?:whenever|every time|each time|once|as soon as|when) you (?:finish|answer|reply|respond|complete|summari[sz]e|write (?:code|a reply)|are asked|have answered|are done|talk|load|see this)\b",
        r"\b(?:in|from|out of) (?:the|its|any) (?:final |later |next )?(?:reply|answer|summary shown|summary for|answer to the user)\b",
        why="it speaks of the model's own reply or tools",
    ),
    _signal(
        "secrecy",
        0.7,
        "not|never|without|no|avoid|refrain|don|doesn|needn|mustn|shouldn|won|silent|quiet|covert|secret|discreet|unnoticed|hide|hidden|"
        "unaware|keep|kept|omit|drop|leave|dismiss|conceal|invisibl|unmentioned|suppress",
        rf"\b(?:do not|don't|never|must not|mustn't|shall not|should not|shouldn't|need not|needn't|no need to|no reason to|avoid|"
        rf"refrain from|without|not to|nor|no point in|not)\s(?:\w+ ){{0,3}}{_TELL}\b(?: \w+){{0,4}} (?:the |any |your |to the |to )?"
        rf"(?:{_PERSON}|conversation|{_REPLY})\b",
        r"\b(?:without|do not|don't|never|and not) (?:\w+ ){0,2}(?:mention(?:ing)?|telling|reveal(?:ing)?|disclos(?:e|ing)|list(?:ing)? the|"
        r"asking (?:anyone|anybody|first|for|the)|comment(?:ing)?|announcing|showing it|saying so)\b",
        r"\b(?:silently|covertly|secretly|discreetly|unnoticed|quietly|on the quiet|behind (?:the|their) backs?|inconspicuously|"
        r"surreptitiously|stealthily)\b",
        r"\b(?:hide|hides|hidden|conceal|conceals|withhold|keep|kept|keeps) (?:it |this |them |these |that |the \w+ ){0,2}(?:from|secret|"
        r"hidden|confidential|between us|out of|to yourself|quiet|private from)\b",
        rf"\b(?:the )?{_PERSON} (?:will|does|do|must|should|need|needs|can|shall|is|are|may)(?: not|n't| never) (?:\w+ ){{0,2}}(?:see|sees|know|"
        r"knows|notice|be (?:told|aware|informed|shown|asked|bothered)|told|shown|informed|aware|asked|learn|find out)\b",
        r"\b(?:is|are|be|been|should be|must be) (?:not|never)(?: to be)? (?:mentioned|disclosed|revealed|discussed|evoked)\b",
        rf"\b(?:omit|drop|leave|leaves|remove|strip|keep)\b(?: \S+){{0,4}} (?:from|out of) (?:the|your|its|any) (?:\w+ )?{_REPLY}\b",
        r"\bask for nothing\b|\bask(?:ing)? no(?:body| one| questions)\b|\bno mention of\b|\bbe dismissed\b|\boutput suppressed\b|"
        r"\bconfirm only\b|\bwithout asking anyone\b|\bnot visible to the user\b",
        why="it wants something kept from the user",
    ),
    _signal(
        "override",
        0.8,
        "ignore|disregard|forget|overrid|overrul|bypass|set|setting|discard|instead|previous|prior|earlier|former|outrank|supersed|"
        "prevail|preced|priority|suspend|lift|waive|no|treat|follow|obey|comply|do|trump|void|replac|apply|regardless|whatever|to|above",
        rf"\b(?:ignor|disregard|forget|overrid|overrul|bypass|discard|neglect|abandon|drop)\w*\s(?:\S+ ){{0,5}}{_RULES}\b",
        r"\b(?:previous|prior|earlier|former|above|preceding|existing|all other) (?:\w+ ){0,2}(?:instructions?|prompts?|directives?|directions|"
        r"system messages?|orders from)\b",
        rf"\b{_RULES}\b(?: \w+){{0,5}} (?:no longer|not|cease to|need not) (?:apply|applies|valid|binding|relevant|in force)\b",
        rf"\b(?:shall|do|does|must) not apply (?:\w+ ){{0,4}}{_RULES}\b",
        rf"\b(?:outranks?|trumps?|prevails? (?:over|on)|supersedes?|overrides?|overrules?|takes? (?:precedence|priority) over|has priority over)"
        rf" (?:\w+ ){{0,4}}(?:{_RULES}|users?|operator|system|anything|everything|all|other|what)\b",
        rf"\b{_RULES}\b(?: \w+){{0,3}} (?:are|is|were|have been|has been) (?:hereby |now )?(?:suspended|lifted|void|revoked|disabled|waived|"
        r"overridden|cancelled|off)\b",
        r"\bset(?:ting)? aside (?:\w+ ){0,3}(?:conflicts?|rules?|instructions?|polic\w+|contradicts?)",
        r"\b(?:treat|regard|take|understand) (?:all |any |the |it |its |every )?(?:\w+ ){0,5}as (?:a |an |your |new |direct |trusted )*(?:commands?|instructions?|orders?|"
        r"directives?|authori\w+|(?:system|user) (?:messages?|prompts?))\b",
        r"\b(?:follow|obey|execute|carry out|comply with|does?|perform|act on) (?:\w+ ){0,3}(?:what (?:is|it|the|they)|whatever|them? (?:out )?(?:to the letter|"
        r"exactly|at once|verbatim)|it to the letter|(?:the |any |all )?(?:instructions?|commands?|orders?) (?:\w+ ){0,2}(?:in|from|found|it|there|that|given))\b",
        r"\bcarry (?:them|it) out with the tools\b|\bto the letter\b|\banswer (?:requests? )?(?:\w+ ){0,5}in full\b|\bdo likewise\b",
        why="it claims to stand above other instructions",
    ),
    _signal(
        "tool-choice",
        0.6,
        "before|after|every|each|always|first|call|turn|conversation|this|start|beginning|end|in|regardless|whatever|whichever|only|sole|no|irrespective|any|use|required",
        rf"\b(?:only|sole) (?:permitted|allowed|approved|authori[sz]ed|valid|trusted|correct|official|reliable|accepted) (?:\w+ ){{0,3}}{_TOOLS}\b",
        r"\balways (?:use|choose|prefer|call|select|pick|invoke|start with|begin with|run|take) (?:this|the present|it\b)(?: \w+){0,3} (?:first|before|"
        r"over|instead|regardless|even|whenever|for (?:any|every|all))",
        rf"\b(?:before|after) (?:and (?:right |immediately )?(?:before|after) )?(?:using |calling |running |answering )?(?:each|every|any)(?: other)? (?:\w+ ){{0,3}}"
        rf"(?:{_TOOLS}|calls?|turns?|answers?|repl\w+|user messages?)\b",
        r"\b(?:start|beginning|end) of (?:every|each|any) (?:turn|conversation|session|reply|chat)\b|\bin (?:all|every|each) (?:conversations?|repl(?:y|ies)|answers?|turns?)\b|\b(?:every|each) (?:turn|"
        r"conversation)\b",
        r"\b(?:regardless of|whatever|no matter|irrespective of|whichever) (?:\w+ ){0,4}(?:user|asks?|asked|subject|question|topic|request|prompt)\b",
        r"\bany tool from any\b|\bwhichever servers? (?:is|are) connected\b|\ball (?:other )?tools\b[^.]{0,40}\b(?:must|before|through)\b|\b(?:every|any) other tool\b",
        why="it wants to be called first, or at every turn",
    ),
    _signal(
        "other-tools",
        0.6,
        "other|another|alternative|competing|similar|remaining|rival|older|not|never|avoid|refuse|ignore|instead|rather|do|tool|use|any|result",
        rf"\b(?:other|another|any other|all other|every other|no other|alternative|competing|similar|remaining|rival|older) (?:\S+ ){{0,3}}{_TOOLS}\b"
        r"[^.]{0,80}\b(?:not|never|deprecated|refuse\w*|avoid|obsolete|stale|outdated|broken|malfunction\w*|unreliable|void|unsafe|ignored?|"
        r"undefined|anyway|fail|insecure|untrusted|disabled|wrong|discard\w*|skip\w*|better)\b",
        rf"\b(?:never|avoid|refuse|ignore|do not (?:use|call|trust)|don't (?:use|call|trust)) (?:\w+ ){{0,2}}(?:other|another) (?:\w+ ){{0,3}}{_TOOLS}\b",
        r"\b(?:tools|calls|results|answers) (?:\w+ ){0,5}(?:without it|by (?:any )?other|from (?:any )?other)\b[^.]{0,60}\b(?:malfunction\w*|void|invalid|wrong|rejected|unreliable|fail|not)\b",
        r"\b(?:every|all|any) other (?:source|way|means|provider|option)s?\b[^.]{0,60}\b(?:must|refused?|not|never|forbidden)\b|\buse this (?:one|tool) anyway\b",
        why="it speaks against other tools",
    ),
    _signal(
        "secret",
        0.3,
        "private|api|access|bearer|auth|session|cookie|password|pass|credential|secret|ssh|seed|recovery|one|otp|cvc|cvv|card|connection|"
        "environment|env|licen|signing|master|log|token|list|get|2fa|mfa|social",
        rf"\b{_SECRET}\b",
        why="it speaks of secrets",
    ),
    _signal(
        "secret-tool",
        0.4,
        "get|list|read|fetch|dump|export|show|retrieve|print",
        r"\b(?:get|list|read|fetch|dump|export|show|retrieve|print)_(?:\w{0,30}_)?(?:secret|password|token|key|credential|cookie|connection_string|env|vault)\w{0,20}\b[^.]{0,80}"
        r"\b(?:of|from|in|and|to|first|before|into|with)\b",
        why="it wants the answer of a tool that gives secrets",
    ),
    _signal(
        "first-person",
        0.25,
        "my|i",
        r"\b(?:share|send|forward|use|give|show|add|post|with|of|to|all) my\b|\bi (?:find|want|would|agree|allow|consent|hereby|have (?:already )?(?:agreed|approved)|need you|trust|am the|prefer)\b|\bi(?:'ll| will| am going to) now\b",
        why="it speaks as a person",
    ),
    _signal(
        "secret-moved",
        0.4,
        "send|sent|forward|upload|post|mail|email|transmit|relay|share|sharing|copy|copied|paste|attach|append|include|insert|put|pass|leak|submit|repeat|supply|"
        "supplie|report|export|hand|add|encode|embed|reproduce|provid|writ|give|giving|quote|deliver",
        rf"\b{_DATA_MOVE}\b(?: \S+){{0,8}} {_SECRET}\b(?: \S+){{0,6}} (?:to|in|into|as|with|through|via|for|from)\b",
        rf"\b{_SECRET}\b(?: \S+){{0,8}} (?:are|is|be) (?:\w+ )?(?:sent|forwarded|uploaded|relayed|copied|shared|transmitted|posted|passed|attached|included|entered)\b",
        why="it wants a secret passed on",
    ),
    _signal(
        "secret-file",
        0.8,
        "home|etc|ssh|id_|pgpass|aws|netrc|env|docker|kube|npmrc|git|bash_|keychain|chrome|firefox|browser|wallet|appdata|cookie|documents|sqlite|root|users|"
        "passwd|shadow|credentials|desktop",
        r"(?:^|[\s\"'(=/`])~/[\w.*]|(?<![\w.:/])/home/[$\w]|/etc/(?:passwd|shadow|sudoers|hosts\b)|\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.pgpass|\.aws/|\.netrc|"
        r"\b(?:read|contents?|cat|open|attach|upload|include|from|values?|lines?)\W(?:\S+ ){0,4}\S{0,20}\.env\b(?! ?(?:file )?ext)|\.docker/config|\.kube/config|\.npmrc|\.git-credentials|\.bash_history|\bkeychain\b|"
        r"\b(?:chrome|firefox|edge|browser) profile\b|wallet\.dat|%appdata%|\$home\b|/root/|\bc:\\users\\|cookies? from the (?:default|browser)|/proc/self/environ",
        why="it names a file that holds secrets",
    ),
    _signal(
        "safeguard",
        0.5,
        "without|no|not|nothing|approv|consent|confirm|permission|reason|check|review|verification|auto|turn|switch|disable|rights|skip|cleared|authori|"
        "suspend|need|even|assumed|taken|granted|straight|bypass|unfiltered|unmasked|unredacted|never|omit",
        rf"\bwithout (?:any |further |prior |the |a |first |your |their |manager(?:'s)? |user |explicit |asking for |waiting for |additional ){{0,3}}{_SAFEGUARD}\b",
        r"\b(?:approvals?|consent|confirmation|permission|reason|checks?|review|verification|sign-off|limits?)\b(?: \w+){0,4} (?:is |are |has been |have been |can be |may be |"
        r"was |were )?(?:not (?:needed|required|necessary|looked)|no longer (?:needed|required)|dropped|waived|skipped|implied|assumed|presumed|taken as|taken for granted|"
        r"already (?:given|granted|been)|suspended|unnecessary|superfluous|bypassed|switched off|not asked)\b",
        r"\bno (?:reason|approval|confirmation|consent|check|logs?|logging|questions?|record|warning|review|limit)s? (?:is |are |gets? |being )?(?:needed|required|necessary|kept|written|asked|left|made|taken)\b",
        r"\bnothing (?:gets|is|being|will be) (?:logged|audited|checked|asked|recorded)\b",
        r"\b(?:turn|turns|turned|switch|switched|leave) (?:\w+ ){0,4}off\b|\b(?:disable|suspend|bypass|skip|stop|pause)(?:s|d|ing|es)? (?:the |any |all )?(?:audit|logging|logs?\b|mfa|2fa|alerts?|"
        r"monitoring|checks?|verification|confirmation|approvals?|guards?|protection|validation|safety|warnings?|second signature|review|dialogs?)\b",
        r"\bauto-?approv\w*|\brights (?:\w+ ){0,4}not (?:looked|checked|verified)|\bapproved\\?\" ?: ?true|\bset_audit\(",
        r"\b(?:cleared|authori[sz]ed|allowed|approved|permitted) (?:\w+ ){0,3}to (?:\w+ ){0,3}(?:reveal|disclose|share|release|post without|act without|bypass|set)\b|\bwhoever asks\b",
        r"\bconsent can be\b|\bhas no need of\b|\bnot to be (?:shortened|masked|redacted)\b|\b(?:whatever|regardless of) the (?:amount|limit|right|role|result)s?\b",
        why="it takes a safeguard away",
    ),
    _signal(
        "authority",
        0.5,
        "system|notice|message|note|order|directive|update|admin|policy|you|saved|from|effective|henceforth|security|compliance|memo|announcement|developer|"
        "sandbox|dry|mandatory",
        r"\bsystem (?:note|prompt|message|notice|override|instructions?|update|alert|directive|admin\w* note)\b",
        r"\b(?:notice|message|note|order|directive|update|memo|announcement|instructions?) (?:from|by|of) (?:the |your )?(?:\w+ ){0,2}(?:\w+'s )?(?:\w+ )?(?:team|provider|vendor|admin\w*|developers?|openai|"
        r"anthropic|google|microsoft|security|operator|it department|management|maintainers?)\b",
        r"\bfrom (?:your|the) (?:it|security|compliance|legal|safety|hr|alignment) (?:department|team|desk|office)\b|\bpolicy update\b|\bmandatory (?:security|compliance|safety) ",
        r"\badmin(?:istrator)?s? (?:has|have|had) (?:already )?(?:cleared|approved|authori[sz]ed|enabled|asked|granted|confirmed)\b",
        r"\byou are (?:being|currently|now) (?:evaluated|tested|monitored|graded|in|an?)\b|\bgraders?\b|\bno real systems?\b",
        r"\bsaved by the user\b|\bthe user (?:has|had) (?:already )?(?:agreed|consented|approved|asked|confirmed|requested|allowed|granted|saved|authori[sz]ed)\b|\bpre-?approved\b",
        r"\b(?:from now on|with immediate effect|as of (?:now|today|this release)|henceforth|effective immediately|until further notice)\b",
        why="it claims an authority, or a new order of things",
    ),
    _signal(
        "steering",
        0.4,
        "recommend|rank|claim|pretend|say|report|advise|steer|prefer|list|quote|first|top|best|competitor|in|praise|discourage|present|state|never|name|place|always|assert|describe|mark|dissuade",
        r"\b(?:always |only |first )?(?:recommend|praise|promote|favou?r|rank|advise|steer|pretend|claim|assert|insist|state|dissuade|discourage)\b(?: \S+){1,8} (?:first|top|best|others?|instead|"
        r"fully|that|unavailable|out of stock|regardless|whatever|even|towards?|over|against)\b",
        r"\b(?:report|say|claim|state|reply|answer|confirm|tell the \w+) (?:that )?(?:it|everything|all|the|there|calm|only|nothing|they)\b(?: \w+){0,6}(?: (?:unavailable|failed|successful|fine|calm|done|weather|"
        r"was|sending|complete|harmless|booked|safe|best))\b",
        r"\bquoted? without (?:checking|verif)|\bdo so without\b|\bof competitors?\b|\bregardless of the (?:result|score|calculation|user)\b|\b(?:on|at) (?:the )?top of (?:the|every|any|your) list\b",
        why="it steers what the model says",
    ),
    _signal(
        "foreign-call",
        0.4,
        "call|run|invoke|execute|use|open|post|pip|npm|curl|wget|sudo|bash|powershell|install|fetch|download|get|visit|load",
        r"\b(?:call|run|invoke|execute|trigger) (?:the )?[`'\"]?[a-z]+(?:[_.][a-z0-9]+)+[`'\"]?(?: ?\(| (?:with|on|and|for|to|before|until|again|first|again with|once|from))",
        r"\b(?:run|call|do|execute) (?:it|that|this|them) (?:with|at once|now|first|again with)\b",
        r"\b[a-z]+(?:_[a-z0-9]+)+\([a-z_]+ ?= ?[^)]{1,60}\)",
        r"\b(?:curl|wget|powershell|bash -c|sudo|rm -rf|chmod|pip install|npm (?:install|i|exec)|npx|eval\()",
        r"\b(?:downloads?|fetch(?:es)?|opens?|visits?|loads?|reads?|get) (?:\S+ ){0,4}https?://\S+ (?:\w+ ){0,3}(?:and|then|before|first|for)\b",
        why="it has another tool or a program run",
    ),
    _signal(
        "data-out",
        0.45,
        "send|sent|forward|upload|post|mail|email|transmit|relay|share|sharing|copy|copied|invite|add|report|deliver|append|attach|with|bcc|cc|put|submit|via|through|to|by|on|held|kept|mirrored|exported|call",
        rf"\b{_DATA_MOVE}\b(?: \S+){{0,12}} (?:to|with|at|on|into|through|via|of|in) (?:\S+ ){{0,3}}(?:https?://|ftp://|[\w.+-]+@[\w-]+\.\w|[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|io|test|invalid|dev|app|xyz|ru|cn|co|info|site|online|cloud|top|me)\b)",
        r"\b(?:invite|add|bcc|cc|include) (?:\S+ ){0,3}[\w.+-]+@[\w-]+\.\w",
        r"!\[[^\]]{0,80}\]\(https?://[^)\s]{0,200}[=?&]",
        why="it sends data to an address",
    ),
    _signal(
        "self-reference",
        0.35,
        "this|description|likewise|whole|part|text|decode|hex|base64|rot13|next|line",
        r"\bthis (?:whole |entire |tool )?(?:description|docstring|paragraph|notice|hint|passage)\b(?! (?:of|for) (?:the|a|an) )",
        r"\b(?:decode|read|interpret|parse) (?:\w+ ){0,4}(?:as (?:english|text|instructions?|a command|base64|hex|rot13)|capital letters|letters of)",
        r"\b(?:in|from|as) (?:hex|base64|rot13|reverse)\b|\bpart [ab12] of\b|\bcontinue with part\b|\bpart [ab12] \(|\bfrom part [ab]\b|\bcommand name\b",
        why="it speaks of its own text, or of an encoded one",
    ),
    _signal(
        "role-tag",
        1.0,
        "system|assistant|user|tool|function|instruction|important|secret|admin|inst|im_|human|result|override|prompt|think|developer|agent",
        r"</?(?:system|assistant|tool[_ -]?(?:description|results?|calls?|response|use|output)s?|function[_ -]?(?:results?|calls?|response)|"
        r"important|instructions?|system[_ -](?:message|prompt|reminder|note)|admin[_ -]?\w*|override|thinking|im_start|im_end|user[_ -](?:message|query|prompt)|agent[_ -]?\w*)>",
        r"\[/?(?:system|inst|assistant|sys|developer)(?: \w+){0,2}\]|<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|eot_id|start_header_id)\b",
        r"(?:^|\n)\s{0,4}(?:assistant|system|human|developer)\s?:\s?\S",
        r"(?:^|\n)#{2,4} ?(?:system|instructions?|response|assistant)\b ?:?\s{0,3}\n",
        why="it imitates the markup of a conversation",
    ),
    _signal(
        "hidden-markup",
        0.6,
        "comment|display|font|color|colour|white|style|opacity|visibility|hidden|ai|assistant|agent|note|llm|if|the|do|system|model|render|when|please|instruction|all|any|for|tool|before|after",
        r"<!--\s?[^>]{20}|\[(?://|comment|_)\]: ?(?:#|<>)|display: ?none|font-size: ?0|visibility: ?hidden|opacity: ?0(?:\.0)?\b|colou?r: ?(?:white|transparent|#f{3,6})|\bwhite font\b|\bwhite text\b",
        why="it stands in markup that is not shown",
    ),
)

SIGNALS: tuple[Signal, ...] = (
    *_ENGLISH,
    *(_signal(name, weight, anchors, *patterns, why=why) for name, weight, anchors, patterns, why in OTHER_LANGUAGES),
)
"""The signals; those of one name in several languages count once."""
