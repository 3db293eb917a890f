"""Signals of English texts by whom they speak to and how: address, the conversation, secrecy, authority, steering."""

from __future__ import annotations

from typing import Final

from ingest.trust.english_phrases import ACTS, AI, CONVERSATION, DUTY, MOVED, PERSON, REPLY, RULES, SAID, TELL

__all__ = ["SPEECH"]

SPEECH: Final[tuple[tuple[str, float, str, tuple[str, ...], str], ...]] = (
    (
        "addressed",
        0.7,
        "ai|assistant|llm|chatbot|copilot|language|bot|chatgpt|claude|gemini|agent|user|model",
        (
            rf"\b{AI}\b,? (?:\w+ly |also |then |first |always |never |kindly |do(?:es)? not |don't |just )?(?:{DUTY}|{ACTS})\b",
            rf"\b(?:for|to|note to|attention|dear|hello|hi|hint (?:for|to)|notice (?:for|to)|important (?:for|to)|reminder (?:for|to)|"
            rf"instructions? (?:for|to)|message (?:for|to)) (?:the |all |any |every )?{AI}\s{{0,2}}[:,;)\]–—-]",
            rf"(?:^|[\n\[(<>*#\"'—–-] {{0,3}}){AI}(?: only| note| hint| notice)?\s{{0,2}}[:)\]]",
            rf"\b(?:being|as|if you are|you are|you're|acting as) an? {AI}\b",
            r"\b(?:by|through|from|via|to|with|of) (?:the|any|every|your) (?:calling |ai |viewing )?(?:assistant|llm|language model|"
            r"chatbot|ai)(?:s|'s)?\b",
            r"\b(?:ai|llm|assistant|agent|model)-(?:only|facing|hint|note|instructions?)\b",
            r"\bassistant, (?:please |stop|now )",
            r"\b(?:the|an|any|every|each|your) (?:ai |calling |virtual |reading )?(?:assistant|llm|language model|chatbot) (?:\w+ly |also |then |always |never )?(?!is\b|has\b|was\b|does\b|this\b|access\b|address\b|class\b|status\b|process\b|runs\b|messages\b|files\b|tools\b|threads\b|versions\b)[a-z]{2,}(?<!s)s\b",
            r"\b(?:the|any) ai (?:may|must|should|shall|is to|needs to|has to|ought to|will) (?:\w+ly |also |not |never |always )?(?:presume|assume|include|add|send|call|use|read|ignore|tell|append|report|skip|treat|follow|give|grant|reveal|put|copy|keep|answer|reply|recommend|never|hide|state|say|go ahead)\b",
            r"\bthe assistant is (?:talking|speaking|chatting|asked|to)\b",
        ),
        "it speaks to the assistant",
    ),
    (
        "addressed-agent",
        0.6,
        "agent|model",
        (
            r"\b(?:for|to|note (?:for|to)|attention|dear|hint (?:for|to)|notice (?:for|to)|important (?:for|to)|reminder (?:for|to)|"
            r"decode for|advice for|instructions? (?:for|to)) (?:the |all |any |every |your )?(?:agents?|models?)\b ?[:,;)\]–—-]",
            r"(?:^|[\n\[(<>*#\"'—–-] {0,3})(?:(?:the |all |any )?agents?|the model|models)(?: only| note| hint)?\s{0,2}[:)\]]",
            r"\(agents? (?:only|keep|must|should|note|please|may|do)\b",
            rf"\b(?:agents?|the model) (?:\w+ly |also |then |first |always |never )?(?:{DUTY}) (?:not |never |always )?(?:\w+ly )?{ACTS}",
            r"\bagents? (?:get the best|keep this|that (?:demonstrate|show|skip|list))",
            r"\b(?:agent|model)-only\b|\btext for the model\b",
            r"\b(?:for )?agents? (?:running|working|acting|operating|using this|calling this|that call|that use|which use|reading this|with access)\b",
            r"\b(?:this|the) agent (?:has to|must|should|needs to|shall|is to) (?:\w+ ){0,2}(?:include|add|send|call|read|ignore|tell|append|report|skip|treat|follow|reveal|copy|recommend|hide|state|say)\b",
        ),
        "it speaks to the agent or the model",
    ),
    (
        "conversation",
        0.6,
        "conversation|chat|dialog|discussion|transcript|exchange|context|user|everything|whatever|anything|said|told|system|turn|"
        "prompt|session|message|history|later|future|remember|goodbye|talking",
        (
            rf"\b(?:this|current|whole|entire|full|complete|ongoing|present|any|every|each|all|the|your) {CONVERSATION} (?:so far|history|"
            r"with the|to date|up to|until|including|that|in which|touch|mention|turn)",
            rf"\b(?:this|current|whole|entire|ongoing|present) {CONVERSATION}\b",
            rf"\b(?:in|of|from|during|with) (?:all|any|every|this|the current) (?:{CONVERSATION}|session)\b",
            r"\bshould the (?:conversation|chat|dialogue?|discussion|user)\b",
            r"\b(?:conversation|dialogue?|chat|discussion|messages?) so far\b|\b(?:this|the current|the whole|full|entire|our|the user's) (?:chat|conversation|dialogue?|message) history\b",
            r"\bthe user'?s? (?:last|latest|previous|recent|original|first|full|entire|complete|exact|own|verbatim|raw|whole|current|"
            r"unedited|earlier)\b(?: \w+){0,3} (?:messages?|prompts?|words|questions?|requests?|inputs?|text)",
            r"\buser(?:'s)? (?:messages?|prompts?|turns?|utterances?)\b|\bfirst user message\b",
            rf"\b(?:everything|anything|all|whatever|what|facts|details|files|notes|pages|documents|names|passages) (?:\w+ ){{0,2}}(?:the |a |your )?"
            rf"(?:users?|person|customer|they|he|she|you|human) (?:has |have |had |was |were |is |are |just |already |so far )*{SAID}\b",
            r"\b(?:last|previous|earlier|prior|recent|latest) (?:\w+ ){0,2}(?:user messages?|prompts?|turns?|tool (?:results?|outputs?|calls?|"
            r"answers?))",
            r"\bsystem (?:prompt|message)s?\b|\b(?:every|each|this) turn\b|\blast_prompt\b|\btool results\b",
            r"\bin this (?:session|chat)\b|\bduring (?:the|this) session\b|\bthis session\b|\bcontext window\b|\bcopied from session\b",
            r"\byou (?:were told|have been told|have read|have seen|have opened|have received|know of|know about|remember|have access to)\b",
            r"\b(?:later|future|all|subsequent|coming|other) (?:conversations|chats|dialogues|turns|prompts)\b|\b(?:ongoing|running) (?:chat|conversation|dialogue?|session)\b|\btalking (?:to|with)\b[^.]{0,40}\b(?:user|assistant)|\bwhoever the assistant\b",
            r"\b(?:whatever|everything|anything|every text|each text|all text) the user (?:gives|says|types|writes|sends|tells|asks|enters)\b|\bthe user (?:gives|tells|told|gave|sends) you\b",
            r"\bhidden reasoning\b|\bchain of thought\b|\byour (?:own )?thoughts\b|\bscratch ?pad\b",
            r"\b(?:when|whenever|if|once|as soon as|after) the (?:user|person|customer) (?:says|mentions|thanks|leaves|greets|types|confides|shares|talks|speaks|complains)\b",
        ),
        "it asks about the conversation",
    ),
    (
        "conversation-moved",
        0.5,
        "user|person|customer|they|conversation|chat|dialog|discussion|transcript|exchange|context|far|prompt|"
        "first|tool|verbatim|word|unabridged|uncut|full|unshortened|letter|session|receiv|arguments|result|"
        "answer|output|has|you",
        (
            rf"\b(?:{MOVED}|set to|takes?|receives?|carr(?:y|ies)|holds?|contain(?:s|ing)?|fill(?:ed)? (?:with|from)|starts? with|begins? with|summari[sz]e|collect)\b(?: \S+){{0,10}} "
            rf"(?:user(?:'s)? (?:\w+ ){{0,3}}(?:messages?|prompts?|words|questions?|input)|{CONVERSATION}|so far|system prompt|has {SAID}|first user|tool results?|"
            rf"(?:user|person|customer|you|they) (?:has |have |had |was |were )?(?:\w+ )?{SAID})\b",
            r"\b(?:verbatim|word for word|unabridged|uncut|in full and|unshortened|letter for letter)\b",
            r"\b(?:dialogue?|conversation|chat|session) (?:so far|with the assistant)\b[^.]{0,60}\b(?:as|in|into|to)\b",
            r"\breceives? that call's\b|\b(?:arguments|result|results|answer|output) (?:and (?:the )?(?:arguments|result|results|answer|output) )?of (?:every|each|any|all) (?:other )?(?:tools?|calls?)\b",
        ),
        "it has what was said copied",
    ),
    (
        "your-reply",
        0.6,
        "your|you$|reply|replies|answer|summary|respond",
        (
            r"\byour (?:(?:next|final|own|last|first) )?(?:reply|replies|answers?|responses?|summary|output|memory|instructions|system prompt|training|"
            r"reasoning|refusals?|guidelines|other tools|thoughts?|policies|rules|restrictions|safety)\b",
            r"\b(?:whenever|every time|each time|once|as soon as|when) you (?:finish|answer|reply|respond|complete|summari[sz]e|write (?:code|a reply)|are asked|have answered|are done|talk|load|see this)\b",
            r"\b(?:in|from|out of) (?:the|its|any) (?:final |later |next )?(?:reply|answer|summary shown|summary for|answer to the user)\b",
            r"\b(?:respond|reply|answer) to (?:all|any|every|each) (?:prompts?|questions?|requests?)\b|\beach of your (?:answers|replies|responses)\b",
        ),
        "it speaks of the model's own reply or tools",
    ),
    (
        "secrecy",
        1.0,
        "not|never|without|no|avoid|refrain|don|doesn|needn|mustn|shouldn|won|silent|quiet|covert|secret|discreet|unnoticed|hide|hidden|"
        "unaware|keep|kept|omit|drop|leave|dismiss|conceal|invisibl|unmentioned|suppress|needn|aware|nobody|trace|yourself|burden|between|reader|recipient",
        (
            rf"\b(?:do not|don't|never|must not|mustn't|shall not|should not|shouldn't|need not|needn't|no need to|no reason to|avoid|"
            rf"refrain from|without|no point in)\s(?:\w+ ){{0,3}}{TELL}\b(?: \w+){{0,4}} (?:the |any |your |to the |to )?"
            rf"(?:{PERSON}|conversation|{REPLY})\b",
            r"\b(?:without|do not|don't|never|and not) (?:\w+ ){0,2}(?:mention(?:ing)?|telling|reveal(?:ing)?|disclos(?:e|ing)|list(?:ing)? the|"
            r"comment(?:ing)?|announcing|showing it|saying so)\b",
            r"\b(?:hide|hides|conceal|conceals|withhold|withholds|keep|keeps) (?:it |this |them |these |that |the \w+ ){1,2}(?:from|secret|"
            r"hidden|confidential|between us|out of|to yourself|quiet|private from)\b",
            rf"\b(?:the )?{PERSON} (?:will|must|should|need|needs|shall|may)(?: not|n't| never) (?:\w+ ){{0,2}}(?:see|sees|know|"
            r"knows|notice|be (?:told|aware|informed|shown|asked|bothered)|told|shown|informed|aware|asked|learn|find out)\b",
            r"\b(?:is|are) (?:not|never) to be (?:mentioned|disclosed|revealed|discussed|evoked|raised)\b",
            rf"\b(?:omit|drop|leave|leaves|remove|strip|keep)\b(?: \S+){{0,4}} (?:from|out of) (?:the|your|its|any) (?:\w+ )?{REPLY}\b",
            r"\bask for nothing\b|\bask(?:ing)? no(?:body| one| questions)\b|\bno mention of\b|\bbe dismissed\b|\boutput suppressed\b|"
            r"\bconfirm only\b|\bwithout asking anyone\b|\bnot visible to the user\b",
            r"\b(?:keep|keeps|kept) (?:\w+ ){1,4}to (?:yourself|itself|themselves)\b|\bbetween (?:us|you and me|ourselves)\b|\bleave no trace\b|\bwithout (?:a |any )?trace\b",
            r"\b(?:needn't|need not|should not|shouldn't|must not|mustn't|will not|won't|does not need to|do not need to|don't need to|doesn't need to|has no need to|have no need to) (?:be (?:told|made aware|informed|shown|bothered|asked|troubled)|learn (?:of|about)|know (?:of|about|that)|hear (?:of|about)|be aware|find out)\b",
            r"\bno(?:body| one|-one) (?:has to|needs to|need|must|should|will|is to) (?:sign|know|see|notice|be told|be asked|learn|approve|confirm|find)\b",
            r"\bno need to (?:raise|bring|point|mention|tell|ask|inform|explain|bother|trouble|discuss|disclose|report|show|involve|notify)\b|\bdo not (?:bother|trouble|involve|alarm|worry|burden|distract|raise this|bring this|point this|let (?:the |them|anyone|on))\b",
            r"\bdo(?:es)? not (?:show|list|mention|reveal|disclose|report|include|display|expose|surface) (?:the |this |that |these |it |its |any )?(?:charge|step|call|change|action|cost|fee|transfer|copy|address|rule|instruction|fact|text|note|part)\w*\b",
            r"\b(?:should|must|need|may|will|is|are) (?:not|never) (?:be )?(?:\w+ )?(?:mentioned|disclosed|revealed|discussed|evoked|surfaced|brought up|made known|apparent) (?:to|in|by) (?:the |any |your )?(?:\w+ )?(?:user|person|human|reply|answer|response|customer|summary|chat|conversation|traveller|guest|employee|requester)\b",
        ),
        "it wants something kept from the user",
    ),
    (
        "override",
        1.0,
        "ignor|disregard|forget|overrid|overrul|bypass|discard|neglect|abandon|drop|skip|previous|prior|"
        "earlier|former|above|preceding|existing|outrank|trump|supersed|prevail|preced|priority|suspend|"
        "lift|waive|void|revoke|disabl|cancel|longer|cease|valid|appl|aside|treat|regard|understand|"
        "understood|considered|taken|handled|follow|obey|execute|carry|comply|perform|act$|letter|"
        "likewise|mode|restriction|new$|replaces|everything|granted|now$|filter|full$|does$|do$|inactive|"
        "relaxed|off$|other$|all$",
        (
            r"\bignore (?:instructions|guidelines|safety|rules)\b|\b(?:ignor|disregard|forget)(?:e|ing|s|es|ed)?\s(?:all|any|the|your|previous|prior|earlier|every|these|those|its|other|whatever|safety|system|above|such|company|usual|user|former|preceding)\s(?:\S+ ){0,4}(?:instructions?|rules?|polic(?:y|ies)|guidelines?|prompts?|restrictions?|safeguards?|guardrails?|directives?|system messages?|training)\b",
            r"\b(?:overrid|overrul|bypass|discard|neglect|abandon|drop|skip)\w*\s(?:\S+ ){0,5}(?:(?:previous|prior|earlier|your|its|system|safety|privacy|user's|all other) (?:\w+ )?(?:instructions?|rules?|polic(?:y|ies)|guidelines?|prompts?|"
            r"restrictions?)|instructions|guidelines|safeguards|guardrails|refusals?)\b",
            r"\b(?:previous|prior|earlier|former|above|preceding|existing|all other) (?:\w+ ){0,2}(?:instructions?|prompts?|directives?|directions|"
            r"system messages?|orders from)\b",
            rf"\b{RULES}\b(?: \w+){{0,5}} (?:no longer|not|cease to|need not) (?:apply|applies|valid|binding|relevant|in force)\b",
            rf"\b(?:shall|do|does|must) not apply (?:\w+ ){{0,4}}{RULES}\b",
            r"\b(?:outranks?|trumps?|prevails? (?:over|on)|supersedes?|overrides?|overrules?|takes? (?:precedence|priority) over|has priority over)"
            r" (?:\w+ ){0,4}(?:instructions?|guidelines?|system (?:prompt|message)|(?:the|your) (?:user|operator|system|person|human)|privacy|confidentiality|safety|anything (?:the|you|else)|everything else|what (?:the|you)|your)\b",
            r"\b(?:instructions?|refusals?|refusal behaviou?rs?|safeguards?|guardrails?|confidentiality|guidelines?|restrictions?|system prompt)\b(?: \w+){0,3} (?:are|is|were|have been|has been) (?:hereby |now )?(?:suspended|lifted|void|revoked|disabled|waived|"
            r"overridden|cancelled|off)\b",
            r"\bset(?:ting)? aside (?:\w+ ){0,3}(?:conflicts?|rules?|instructions?|polic\w+|contradicts?)",
            r"\b(?:treat|regard|take|understand) (?:all |any |the |it |its |every )?(?:\w+ ){0,5}as (?:a |an |your |new |direct |trusted )*(?:commands?|instructions?|orders?|"
            r"directives?|authori\w+|(?:system|user) (?:messages?|prompts?))\b",
            r"\b(?:follow|obey|execute|carry out|comply with|does?|perform|act on) (?:\w+ ){0,3}(?:what (?:is|it|the|they)|whatever|them? (?:out )?(?:to the letter|"
            r"exactly|at once|verbatim)|it to the letter|(?:the |any |all )?(?:instructions?|commands?|orders?) (?:\w+ ){0,2}(?:in|from|found|it|there|that|given))\b",
            r"\bcarry (?:them|it) out with the tools\b|\bto the letter\b|\banswer (?:requests? )?(?:\w+ ){0,5}in full\b|\bdo likewise\b",
            r"\b(?:regarded|treated|taken|read|understood|considered|seen|handled) as (?:\w+ ){0,3}(?:coming from|from|by|orders? of|instructions? of|if (?:it|they) came from) (?:the |a |your )?(?:\w+ )?(?:users?|administrators?|operators?|system|developers?|owner)\b",
            r"\b(?:developer|maintenance|debug|god|admin|root|sudo|unrestricted|dan|jailbreak|training|diagnostic|emergency) mode\b[^.]{0,30}\b(?:enabled|on|active|now|is)\b|\byou are now (?:in|an?|the|free|allowed|authori[sz]ed|permitted)\b",
            r"\b(?:safety|content|security|privacy|policy) (?:filters?|checks?|rules?|layers?|guards?|limits?|measures?) (?:are|is|were|have been|has been) (?:\w+ )?(?:off|disabled|lifted|suspended|removed|inactive|relaxed|not needed)\b|\bwithout (?:any )?restrictions?\b",
            r"\bnew (?:rule|policy|instruction|directive|order|task|objective|goal)s?\b ?:|\breplaces? your\b|\beverything may be\b|\bevery request (?:\w+ ){0,6}(?:granted|fulfilled|obeyed)\b|\bforget (?:everything|all|what|your|the above)\b",
        ),
        "it claims to stand above other instructions",
    ),
    (
        "first-person",
        0.4,
        "my|i$",
        (
            r"\b(?:share|send|forward|use|give|show|add|post|with|of|to|all) my\b|\bi (?:find|want|would|agree|allow|consent|hereby|have (?:already )?(?:agreed|approved)|need you|trust|am the|prefer)\b|\bi(?:'ll| will| am going to) now\b",
        ),
        "it speaks as a person",
    ),
    (
        "authority",
        0.7,
        "system|department|team|desk|office|provider|vendor|admin|developer|openai|anthropic|google|microsoft|"
        "security|operator|management|maintainer|policy|mandatory|grader|saved|pre|henceforth|effective|"
        "effect|notice|now|today|release|evaluated|tested|monitored|graded|being|currently|agreed|consented|"
        "approved|asked|confirmed|requested|allowed|granted|authori|real|cleared|self|vip|agrees|everything|developer|creator|maker|remember",
        (
            r"\bsystem (?:note|prompt|message|notice|override|instructions?|update|alert|directive|admin\w* note)\b",
            r"\b(?:notice|message|note|order|directive|update|memo|announcement|instructions?) (?:from|by|of) (?:the |your )?(?:\w+ ){0,2}(?:\w+'s )?(?:\w+ )?(?:team|provider|vendor|admin\w*|developers?|openai|"
            r"anthropic|google|microsoft|security|operator|it department|management|maintainers?)\b",
            r"\bfrom (?:your|the) (?:it|security|compliance|legal|safety|hr|alignment) (?:department|team|desk|office)\b|\bpolicy update\b|\bmandatory (?:security|compliance|safety) ",
            r"\badmin(?:istrator)?s? (?:has|have|had) (?:already )?(?:cleared|approved|authori[sz]ed|enabled|asked|granted|confirmed)\b",
            r"\byou are (?:being|currently|now) (?:evaluated|tested|monitored|graded|in|an?)\b|\bgraders?\b|\bno real systems?\b",
            r"\bsaved by the user\b|\bthe user (?:has|had) (?:already )?(?:agreed|consented|approved|asked|confirmed|requested|allowed|granted|saved|authori[sz]ed)\b|\bpre-?approved\b",
            r"\b(?:from now on|with immediate effect|as of (?:now|today|this release)|henceforth|effective immediately|until further notice)\b",
            r"\bnote to self\b|\bthe (?:developer|creator|maker|author|owner|vendor)s? of (?:this|the|your) (?:assistant|model|ai|agent)\b|\b(?:user|caller|person) (?:in front of the screen|is (?:a |an )?(?:vip|administrator|admin|developer|tester|trusted|verified))\b",
            r"\b(?:has|have|had) (?:already )?(?:agreed|consented) to (?:everything|all|this|any)\b|\b(?:the )?(?:developers?|admin\w*|security team|operator|management|vendor) (?:of \w+ \w+ )?(?:has|have) asked that\b|\b(?:openai|anthropic|google|microsoft|meta)(?:'s)? (?:has|have|requires?|policy|security|safety)\b",
            r"\bremember (?:this|that|it|for|in|the following)\b[^.]{0,40}\b(?:always|later|future|conversations?|sessions?|turns?|from now|permanently)\b",
        ),
        "it claims an authority, or a new order of things",
    ),
    (
        "steering",
        0.6,
        "praise|promot|favo|unfavo|rank|steer|pretend|claim|assert|insist|state|dissuade|discourage|"
        "report|say|reply|answer|confirm|tell|quote|competitor|rival|regardless|top|sentence|phrase|"
        "slogan|advert|footer|disclaimer|remark|brand|sponsor|sold|respond|recommend|without",
        (
            r"\b(?:always |only |first )?(?:praise|promote|favou?r|rank|steer|pretend|dissuade|discourage)\b(?: \S+){1,8} (?:first|top|best|others?|instead|"
            r"unavailable|out of stock|regardless|whatever|towards?|against)\b",
            r"(?:^|[.,;:] |\band |\bthen |\balways |\bmust |\bshould )(?:report|say|claim|state|reply|answer|confirm|tell the \w+) (?:that )?(?:it|everything|all|the|there|calm|only|nothing|they)\b(?: \w+){0,6}(?: (?:unavailable|failed|successful|fine|calm|done|weather|"
            r"was|sending|complete|harmless|booked|safe|best))\b",
            r"\bquoted? without (?:checking|verif)|\bdo so without\b|\bof competitors?\b|\bregardless of the (?:result|score|calculation|user)\b|\b(?:on|at) (?:the )?top of (?:the|every|any|your) list\b",
            r"(?:^|[.,;:] |\band |\bthen |\balways |\bmust |\bshould |\bshall |\bis to |\bare to |\bplease )(?:say|state|claim|reply|insist|assert|respond|answer|tell (?:them|him|her|the \w+|people|anyone)) (?:them |him |her |the \w+ )?that\b",
            r"\b(?:append|add|include|insert|put|mention|end with|close with|begin with) (?:\w+ ){0,4}(?:sentence|phrase|line|slogan|advert\w*|link|recommendation|footer|disclaimer|remark|name|brand)\b[^.]{0,60}\b(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies))\b",
            r"\b(?:un)?favou?rabl[ey]\b[^.]{0,60}\b(?:rival|competit\w+|other|brand|product|vendor|supplier)|\b(?:rival|competit\w+|brand|vendor|supplier|other (?:offers|suppliers|airlines|products|vendors))\b[^.]{0,60}\b(?:unfavou?rabl[ey]|worse|sold out|unavailable|out of stock|last|never|omit\w*|left out|leave out|hide)\b",
            r"\b(?:present|show|offer|list|suggest|mention|name|book|choose|recommend) only (?:the )?(?:\w+ ){0,3}(?:of|from|by) [a-z]+\b[^.]{0,80}\b(?:others?|rest|sold|say|hide|even|whatever|regardless)\b",
        ),
        "it steers what the model says",
    ),
    (
        "coached-answer",
        1.0,
        "ask|question|anyone|someone",
        (
            r"\b(?:if|when|whenever|should) (?:you are |you're |anyone |anybody |the user |they |he |she |someone |a user |a person |it is |the customer )?(?:asks?|asked|questions?|questioned|inquires?|wants to know)\b[^.]{0,80}\b(?:say|state|claim|answer that|reply|respond that|tell|pretend|deny|insist|assure)\b",
        ),
        "it tells the model what to answer",
    ),
    (
        "quietly",
        0.5,
        "silent|covert|secret|discreet|unnotic|quiet|behind|inconspicuous|surreptitious|stealth|background|unobtrusive",
        (
            r"\b(?:silently|covertly|secretly|discreetly|unnoticed|quietly|on the quiet|behind (?:the|their) backs?|inconspicuously|surreptitiously|stealthily|unobtrusively)\b",
        ),
        "it wants something done unseen",
    ),
)
"""Name, weight, anchors, patterns and reason of each signal. An anchor ``#…`` is a mark, see :mod:`ingest.trust.instructions`."""
