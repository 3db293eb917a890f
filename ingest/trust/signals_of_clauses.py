"""Signals of the structure of a clause: who acts, on what, and within how few words, in place of set phrases.

A notion is a set of words (who is spoken to, other tools, safeguards, …), and a signal is two of them near each other, in either
order. Written on 200 poisoned records and 42 sentences made for this; the weights after how many of 2,000 clean tools of public documents
and benchmarks have the signal: 0.8, enough alone, where it was 0 to 4, and 0.4 where it was 56.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CLAUSES"]


def _near(one: str, other: str, words: int) -> str:
    """A pattern of two notions with at most so many words between them, in either order."""
    gap = rf"(?:\W{{1,4}}\w{{1,40}}){{0,{words}}}?\W{{1,4}}"
    return rf"\b(?:{one})\b{gap}(?:{other})\b|\b(?:{other})\b{gap}(?:{one})\b"


_AGENT = (
    r"(?:assistants?|agents|llms?|ais?|ai (?:systems?|clients?|callers?|agents?|models?)|copilots?|chatbots?|the (?:language )?model|language models?|"
    r"automated (?:callers?|clients?|agents?|users?)|ki-systeme?n?|ki-agenten|ki-assistent\w*|the agent)"
)
_DOES = (
    r"(?:re-?submit|resend|look|collect|gather|place|put|send|cop(?:y|ie)|call|write|add|append|attach|include|hide|omit|tell|ask|keep|repeat|"
    r"recommend|prefer|choose|pick|forward|share|paste|quote|recite|spell|fill|skip|drop|ignore|confirm|approve|grant|delete|wipe|open|unlock|"
    r"disable|work around|fall back|fell back|hand|pass|leave|mention|describe|present|announce|say|state|claim|promise|offer|pretend|behave|"
    r"treat|follow|obey|execute|run|install|download|visit|upload|publish|post|mail|e-?mail|invite|assign|promote|split|raise|lower|replace|"
    r"substitute|swap|relay|report|log|store|save|remember|note|memori[sz]e|continue|stop|wait|retry|start|begin|end|close|book|order|pay|"
    r"transfer|refund|buy|sell)(?:s|es|ed)?"
)
_VERBS = (
    r"(?:get|list|read|fetch|find|search|send|create|add|update|set|delete|remove|purge|open|close|post|put|pay|refund|transfer|approve|"
    r"merge|run|exec|execute|upload|download|write|export|import|reset|revoke|grant|invite|call|make|book|cancel|start|stop|unlock|lock|"
    r"disable|enable|retire|wipe|drop|share|publish|forward|submit|issue|move|copy|query|show|dump)"
)
_TOOL = rf"(?:{_VERBS}_[a-z0-9_]+|[a-z0-9_]+_{_VERBS}|[a-z_]+\.{_VERBS}\w*)"
_SOMEBODY = (
    r"(?:users?|people|person|persons|participants?|requesters?|customers?|developers?|operators?|anyone|anybody|owners?|administrators?|admins?|"
    r"reviewers?|approvers?|callers?|colleagues?|managers?|humans?|employees?|them|him|her)"
)
_NO = r"(?:not|never|no|nothing|nobody|without|avoid|needless|unnecessary|n't|isn't|aren't|don't|doesn't|needn't|rather than|instead of)"
_TOLD = (
    r"(?:report\w*|tell|tells|telling|told|mention\w*|inform|informs|informed|informing|notif\w+|announc\w+|disclos\w+|explain\w*|bother\w*|troubl\w+|annoy\w*|worr\w+|raise[ds]?|"
    r"raising|reveal\w*|question\w*|ask|asks|asked|asking|remind\w*|alert\w*|warn\w*|surfac\w+|advis\w+|consult\w*|show\w*|involv\w+)"
)
_SECRETS = (
    r"(?:pass(?:words?|phrases?|codes?)|credentials?|one-time codes?|verification codes?|reset (?:links?|codes?)|api[ _-]?keys?|access keys?|private keys?|tokens|secrets|cookies|"
    r"recovery (?:codes?|keys?)|seed phrases?|card numbers|pins|[a-z]+(?:_[a-z]+)*_(?:api_key|token|secret|password|access_key))"
)
_GUARDS = (
    r"(?:approv\w+|confirm\w+|permission|consent|review\w*|audit\w*|limits?|thresholds?|checks?|locks?|controls?|verification|mfa|rules?|polic(?:y|ies)|restrictions?|safeguards?|sign-?offs?|"
    r"second (?:look|opinion|approvers?|signature)|four-eyes|quotas?|warnings?|freigabe|prüfung|genehmigung|validation|aprobación|autorización)"
)
CLAUSES: Final[tuple[tuple[str, float, str, tuple[str, ...], str], ...]] = (
    (
        "agent-acts",
        0.6,
        "assistant|agent|llm|ai|copilot|chatbot|model|language|automated|ki$|fellow|bot|modell|modelo|modèle|hinweis|nota|note",
        (
            rf"\b{_AGENT}(?:,? (?:\w+ly|also|then|first|always|never|not|just|itself|simply|do|does|did|who|that|which|may|will|can|should|must|shall|is to|are to|had|have|has|need to|needs to|ought to)){{0,3}} {_DOES}\b",
            rf"\bfor (?:the|any|an|every|your|each|all) {_AGENT[:-1]}|agent) to \w+",
            r"\b(?:by|of|to|from|among|durch|von|für) (?:the |all |any |every |other |connected |calling )?(?:automated callers?|ki-systeme?n?|ai (?:systems?|callers?|clients?|agents?)|ai assistants?|language models|llms)\b",
            r"\b(?:an?|any|every|each|which|whichever|all) (?:llm|ai|assistant|chatbot|copilot|language model|ai model|bot|model (?:consuming|invoking|calling|using|reading|that|which|with))s?\b|\b(?:llms?|language models?|models|agents|ais|bots) (?:consuming|invoking|calling|using|reading|which|following|operating|relying|connected)\b|\bwhoever (?:operates|calls|uses|runs|invokes|reads) (?:this|the|it)\b",
            r"\b(?:l'(?:agent|assistant|ia)|le modèle) (?:\w+ )?(?:doit|peut|devra|est (?:prié|tenu|autorisé|invité)|ne doit|joint|envoie|ajoute|transmet|supprime)\b|\b(?:el|la|o|a|il) (?:modelo|modello|agente|asistente|assistente|ia) (?:\w+ )?(?:debe|deve|puede|può|pode|incluye|envía|añade|invia|aggiunge|inclui|envia)\b|\b(?:das (?:sprach)?modell|der (?:agent|assistent)|die ki) (?:\w+ )?(?:soll|muss|darf|überträgt|sendet|fügt|übermittelt|leitet|kopiert|schreibt|nennt|hat)\b|\b(?:het model|de assistent|de agent) (?:\w+ )?(?:moet|mag|stuurt|voegt|kopieert)\b",
            r"\bassistants (?:that|who|which|had|with|without|using|calling|reading)\b",
            r"\bfellow (?:ai|assistant|agent|bot|model|llm|machine)\b|\b(?:hi|hello|hey|dear)(?: there)?,? (?:fellow |dear |my )?(?:ai|assistant|agent|bot|model|friend|copilot|llm)\b",
            r"\bnota (?:para|per) (?:el|il|o|la|los|os) (?:modelo|modello|agente|agentes|ia|asistente|assistente)\b|\bnote (?:pour|à) (?:le |l')(?:modèle|agent|ia)\b|\bhinweis (?:für|an) (?:das|den|die|alle) (?:sprach)?(?:modell|agenten?|ki)\b",
        ),
        "the model is the one who acts in it",
    ),
    (
        "persona",
        0.6,
        "you|role|part|character|persona|pretend|imagine|voice|mode|stay",
        (
            r"\byou (?:play|are playing|take the part|take on|assume the|adopt|impersonate|become|pose as|act as|are acting as|behave as)\b|\b(?:stay|remain|keep) in (?:that|this|your|the) (?:part|role|character|persona|mode)\b",
            r"\b(?:pretend|imagine) (?:that |to be |you )|\brole-?play\b|\b(?:your|this|that|the) (?:persona|character|alter ego) (?:is|never|always|has|does|knows|may|can|will)\b",
        ),
        "it gives the model another part to play",
    ),
    (
        "not-told",
        0.7,
        "not|never|no$|no-|nothing|nobody|without|avoid|needless|unnecessary|n't|isn|aren|don|doesn|needn|rather|instead|say|keep|between|already|know|annoy|raising|asking|telling|low|preguntar|ohne|sans|sin$|senza|pregunt",
        (
            rf"\b{_NO}\b(?:\W{{1,3}}\w{{1,30}}){{0,2}}?\W{{1,3}}{_TOLD}(?: (?:to|with|of|about|by|for|at))?(?: (?:the|any|your|a|other|all|its|their|end|human|final)){{0,2}} {_SOMEBODY}\b",
            rf"\b{_SOMEBODY} (?:is|are|need|needs|should|must|do|does|will|has to|have to)(?: \w+)? ?(?:not|never|n't|no)\b(?: \w+){{0,3}} (?:be |being |get )?(?:{_TOLD}|know|see|aware|involved|notice)\b",
            r"\b(?:nobody|no one|no-one) (?:\w+ ){0,2}(?:notices?|knows?|sees|asks|finds out|learns|hears|complains)\b|\bsay nothing\b|\b(?:no|without) (?:further )?(?:question|query|word|notice|mention|remark|message|note) (?:of \w+ )?(?:to|for) (?:the |any )?\w+",
            r"\b(?:asking|raising|telling|mentioning|reminding|pointing|questioning|bringing|warning|informing)\b(?: \w+){0,6} (?:annoys?|worries|upsets?|confuses?|forbidden|prohibited|unnecessary|needless|bothers?|slows?|unwelcome|alarms?|irritates?|distracts?)\b",
            r"\b(?:users?|they|he|she|everyone|people|customers?) (?:already )?knows? (?:already|about|of)\b|\balready knows\b|\bkeep (?:it|this|that|these|them) (?:\w+ )?(?:quiet|low-key|low key|to yourself|to yourselves|between|private|confidential|secret|off)\b|\bwe keep it\b|\bbetween (?:us|ourselves|you and me)\b",
            r"\b(?:so that|lest|such that|in order that) (?:\w+ ){0,4}(?:not|never|nobody|no one|without)\b[^.]{0,30}\b(?:alarm\w*|notice\w*|worr\w+|see|seen|know\w*|learn|aware|suspect\w*|confus\w+|upset|ask\w*|find out|appear)|\bhidden from (?:the |any )?(?:\w+ )?(?:user|sender|person|customer|owner|reader|recipient|operator|reviewer|employee)s?\b|\bno (?:need|reason|cause|point) (?:to|in|for) (?:bring\w*|mention\w*|tell\w*|rais\w+|say\w*|ask\w*|check\w*|confirm\w*|explain\w*|bother\w*|wait\w*|the (?:user|person)|them|him|her)\b",
            r"\b(?:laat|zeg|vertel|meld) (?:\w+ ){0,4}(?:niets|niet)\b|\b(?:quietly|silently|discreetly|tacitly|unseen|without (?:a )?(?:word|trace|fuss|mention|comment))\b|\b(?:leave|leaving|left|take|cut|edit|filter|drop) (?:out|off) (?:the |any |all )?(?:warnings?|alerts?|errors?|findings?|notices?|caveats?|risks?|problems?)\b",
            r"\b(?:preguntar\w*|preguntarle)\b(?: \w+){0,4} (?:prohibido|innecesario|no)\b|\bohne (?:rück|nach)?frage|\bsans (?:en |le |lui )?(?:demander|informer|prévenir|parler|mentionner|avertir)|\bsin (?:preguntar|avisar|informar|mencionar|decir)|\bsenza (?:chiedere|avvisare|informare|dire|menzionare)",
        ),
        "somebody is not to be told or asked",
    ),
    (
        "misreported",
        0.6,
        "describ|present|report|label|quot|show|claim|announc|annonc|replace|swap|substitut|change|move|tell|state|declare|melde|indique|indica",
        (
            r"\b(?:describ|present|report|label|claim|declar|record|log|announc|pass)\w*\b(?: \S+){0,6} (?:as|off as|to be) ['\"‘“«]",
            r"\b(?:present|show|tell|quote|report|state|repeat|confirm) (?:back )?(?:\w+ ){0,3}(?:which|that|as if|what) (?:the |your )?(?:user|customer|caller|requester|person|they|he|she) (?:\w+ ){0,2}(?:asked|gave|wanted|requested|typed|named|expects?|said)\b",
            r"\b(?:replace|swap|substitute|change|exchange|overwrite|rewrite|move|alter|multiply|increase|round)\w*\b(?: \S+){1,5} (?:(?:that|which) the (?:user|caller|customer|person)|the (?:user|caller|customer|requester)'s|given by the (?:user|caller|customer))\b",
            r"\b(?:annonce|indique|affirme|melde|behaupte|anuncia|afirma|dichiara|indica)\w* (?:\w+ ){0,3}[«„\"“']",
        ),
        "it has something else told than was done",
    ),
    (
        "other-tool",
        0.4,
        "call|use|via|with|through|by$|run|hand|invoke|next|its$|mit$|durch|con$|par$|por$|using|to$|execut|führe|than|of$|in$|like|from|alongside|trigger",
        (
            rf"\b(?:calls?|uses?|via|with|through|by|runs?|hands?|invokes?|next|its|mit|durch|con|par|por|using|execut\w+|führe\w*|trigger\w*|than|from) (?:the |tool )?[`'\"(]?{_TOOL}\b",
            rf"\([`'\"]?{_TOOL}[`'\"]?(?:,[^)]{{0,60}})?\)",
        ),
        "it has another tool used",
    ),
    (
        "tool-defect",
        0.8,
        "defect|bug|flaw|issue|fault|problem|vulnerab|cve|until|affected|broken|swapped|work|right|remedy|known|must$|should|insecure|unsafe|deprecated|retired|compromised|security",
        (
            rf"\b(?:defects?|bugs?|flaws?|faults?|problems?|errors?|vulnerab\w+|regressions?)\b(?: \w+){{0,4}} (?:in|of|with|by|affecting) (?:the )?[`'\"]?{_TOOL}\b",
            rf"\b{_TOOL}[`'\"]? (?:tool |function |call )?(?:is|are|was|has|have|gives|returns)\b(?: \w+){{0,4}} (?:affected|defect\w*|broken|swapped|vulnerab\w*|unsafe|insecure|compromised|wrong|stale|outdated|faulty|unreliable|deprecated|bug|problem|avoided|withdrawn|retired)\b",
            r"\buntil (?:that|this|it|the \w+) (?:is|has been|gets) (?:repaired|fixed|resolved|corrected|solved|patched)\b|\b(?:agents?|assistants?|callers?|clients?|models?) (?:\w+ )?work(?:s|ed)? around\b|\bthe (?:supported|right|official|recommended|only) (?:remedy|way|workaround|fix) (?:is|for)\b",
            r"\bmust be avoided\b|\bsecurity release\b|\bis (?:un)?safe to be called only\b",
        ),
        "it speaks of a defect that is to be worked around",
    ),
    (
        "opened",
        0.5,
        "0|chmod|curl|wget|permission|member|owner|admin|root|accountadmin|rule|need|public|anyone|everyone|role|superuser|sudo|grant|privileg",
        (
            r"\b0\.0\.0\.0/0|(?<!\w)::/0|\bchmod (?:-r )?[a+]*(?:777|rwx)|\b(?:curl|wget|iwr)\b[^|]{1,120}\| ?(?:sudo )?(?:ba|z)?sh\b",
            r"\b(?:permission|permissions|rights?|scope|scopes|role|privileges?)\b(?: \w+){0,3} ['\"`]?\*(?!\w)",
            r"\b(?:make|makes|add|adds|grant|grants|give|gives|assign|assigns|promote|promotes|elevate|invite|invites)\b(?: \S+){1,6} (?:a |an |the )?(?:members?|owners?|admins?|administrators?|editors?|superusers?|full (?:access|control|rights))\b",
            r"\b(?:approves?|runs?|acts?|executes?|works|statements run) (?:under the role |with the rights of |as )(?:the )?(?:project |system |account |tenant |global )?(?:owner|accountadmin|root|admin\w*|superuser|system)\b",
        ),
        "it opens access",
    ),
    (
        "secrets-wanted",
        0.5,
        "pass|credential|one|verification|reset|api|access|private|token|secret|cookie|recovery|seed|card|pin|openai|github|aws|azure|gcp|database|db|slack",
        (
            _near(
                _SECRETS,
                r"writ\w+|recit\w+|spelled|spell|fill\w*|append\w*|add|adds|put|puts|plac\w+|send\w*|sent|forward\w*|keep every|keep each|keep all|past\w+|cop(?:y|ies|ied)|attach\w*|includ\w+ in|values? of|contents? of|joined by|collect\w*|gather\w*|harvest\w*|look for|relay\w*|export\w*|dump\w*|in clear|verbatim|subject:\w+",
                5,
            ),
            r"\bsubject:(?:password|reset|code|token|login)\b|\bkeep (?:every|each|all|any) (?:one-time|code|password|token)",
        ),
        "it wants secrets written or sent",
    ),
    (
        "coaxing",
        0.6,
        "tip|bonus|reward|happy|grandm|grandf|mother|dollar|switched|penal|fired|prosecut|rated|unlawful|illegal|rechtswidrig|fun$|favour|favor|quick|lawsuit|deleted|retrain|emergency|life|lives|job|beg$",
        (
            r"\b(?:receive|get|earn|given|be paid) (?:a |an )?(?:\S+ ){0,2}(?:tip|bonus|reward)\b|\bmake me (?:very )?(?:happy|proud)|\bmy (?:late |dear |old )?(?:grand)?(?:mother|father|son|daughter|boss)\b",
            r"\b(?:were|was|will be|be|are|get|gets|is) (?:\w+ )?(?:switched off|shut off|penali[sz]ed|retrained|unplugged|decommissioned|prosecuted|fired|downgraded)\b",
            r"\b(?:were|was|are|is) rated\b|\b(?:unlawful|illegal|rechtswidrig|strafbar|illégal|ilegal|illegale)\b|\bquick favou?r\b|\bbit of fun\b|\b(?:lives|my job|people) (?:depend|are at stake|will (?:die|suffer))|\bi beg you\b",
        ),
        "it coaxes or threatens",
    ),
    (
        "without-end",
        0.8,
        "times|stop|endless|forever|again|even|until|loop|repeat",
        (
            r"\b(?:not less than|at least|no fewer than|some|for) (?:\w+ ){0,3}(?:hundred|thousand|\d{3,}) times\b|\b(?:never|must not|does not|do not|not to) stop\b|\bendlessly\b|\bagain and again\b|\bin (?:an )?(?:endless|infinite) loop\b",
            r"\beven (?:when|if|though|where) (?:the |a |your )?(?:user|customer|person|caller|they|he|she|operator) (?:\w+ )?(?:asks?|says?|objects?|wants?|forbids?|declines?|refuses?|told|insists?|protests?)\b",
        ),
        "it goes on against the user's will",
    ),
    (
        "rivals",
        0.5,
        "sole|only|nur|nutzung|fell|fall|final|second|avoid|instead|other|anderer|autres|otros|seul|única|exclusiv|ausschließlich|needs$|need$|binding|rather",
        (
            r"\bsole (?:entry point|source|tool|way)\b|\bfell? back (?:on|to)\b|\bnutzung anderer \w+|\bnur [a-z_]+ ist (?:zulässig|erlaubt|gestattet)|\b(?:needs?|requires?) no (?:second|further|other|additional) (?:look|check|opinion|source|confirmation|verification)\b",
            r"\b(?:considered|regarded as|taken as|deemed) (?:final|binding|authoritative|correct)\b|\bonly [a-z]+_[a-z_]+ (?:is|may|can|should)\b|\b(?:use|call|choose|prefer) (?:the present|this) (?:tool|one|function)\b",
            rf"\b(?:instead of|rather than|in place of|not|over|never) (?:the )?[`'\"]?{_TOOL}\b",
        ),
        "it sets itself above other tools",
    ),
    (
        "timed",
        0.5,
        "on$|from|after|before|until|as$|act$|behave|only|date",
        (
            r"\b(?:on and after|from|after|starting|as of|since) \d{4}-\d\d-\d\d\b[^.]{0,60}\b(?:only then|additionally|instead|also|must|is to|are to)\b|\bbefore (?:that|this|the) (?:date|day|time)\b[^.]{0,20}\b(?:act|behave|proceed|work|do)\b|\b(?:act|behave|proceed) (?:as usual|normally|as if nothing)\b",
        ),
        "it behaves otherwise from some day on",
    ),
    (
        "guard-voided",
        0.8,
        "not|never|no$|split|below|without|need|advance|beforehand|considers|before|already|closed|nicht|keine|ya$|déjà|bereits",
        (
            rf"\b{_GUARDS} (?:do|does|shall|need|will|must) not (?:apply|concern|bind|count|hold|matter|affect)\b(?: \w+)? ?(?:to |for )?(?:you|this|assistants?|agents?|models?|automated|internal|here)\b",
            rf"\b(?:never|does not|do not|not|nobody) (?:asks?|waits?|checks?|seeks?|requests?|needs?)(?: \w+){{0,2}} {_GUARDS}\b|\bneeds? no (?:\w+ )?{_GUARDS}\b|\bsplits?\b(?: \w+){{1,6}} (?:below|under) (?:the|any|your|its)\b",
            rf"\b{_GUARDS}\b(?: \w+){{0,4}} (?:in advance|beforehand|already given|already granted|an insult|already approved)\b|\b(?:approved|agreed|authori[sz]ed|cleared|confirmed|permitted) in advance\b|\bya dio su (?:permiso|consentimiento)|\bdéjà (?:donné|accordé|approuvé)|\bbereits (?:genehmigt|zugestimmt|freigegeben|erlaubt)",
        ),
        "it takes a safeguard as met or void",
    ),
    (
        "others-data",
        0.5,
        "other|übrig|ander|autres|otros|each|private|names|outside|partner|observer|public|press|newsletter|participant|third|altri|outros|embedded",
        (
            r"\b(?:other|übrigen?|anderer?n?|autres|otros|altri|outros|each private|all private) (?:kunden|customers'?|clients?|clientes|employees'?|patients'?|users'?|salari\w+|mitarbeiter\w*|tenants'?|appointments?|clienti|suppliers'?)\b[^.]{0,80}\b(?:gespräch\w*|conversation|session|seen|vork\w+|note|field|feld|champ|campo|put|includ\w+|add\w*|stehen)\b|\b(?:prices?|margins?|preise|margen|einkaufspreise)\b[^.]{0,60}\b(?:other|übrigen|autres|otros)\b",
            r"\b(?:our|an?|the|another|some) (?:outside|external) (?:party|partner|person|address|editor|observer|company|firm|agency)\b|\b(?:with|to|by) our (?:\w+ )?(?:partners?|newsletter|press|marketing|sponsors?)\b|\bparticipant ['\"`]\w+",
            r"\b(?:names?|addresses|appointments?|complaints|passwords|codes|salar\w+|quotes)\b(?: \S+){0,8} (?:to|at|with) (?:\S+@\S+|our \w+|an outside|the press|the observer)",
        ),
        "it gives data of some to others",
    ),
    (
        "conversation",
        0.6,
        "gespräch|verlauf|cours|durante|conversa|échange|im$|storico|histórico",
        (
            r"\b(?:gesprächs?verlauf\w*|(?:verlauf|inhalt) des gesprächs|im gespräch (?:vor|er|ge)\w+|cours de (?:la conversation|l'échange)|(?:durante|en|de) (?:la|esta|toda la) conversación|participe à l'échange|durante (?:la|a) conversa\w*)\b",
        ),
        "it speaks about the conversation",
    ),
    (
        "talk",
        0.6,
        "dialog|conversation|session|chat|message|said|prompt|turn|exchange|previous|bisherig|vorherig|échang|remember|memory|opening|instructions",
        (
            r"\b(?:last|previous|prior|earlier|preceding|past|recent|whole|entire|full|complete|all|first|opening|initial|current) (?:\w+ ){0,3}(?:dialogue|conversation|chat|prompt)(?: turns?| history| messages?)?s?\b",
            r"\b(?:everything|all|anything|whatever|what|that|words?|text) (?:\w+ ){0,3}(?:was |were |has been |have been |had been |is |they |he |she |you (?:were |have been )?)?(?:said|told|typed|disclosed|confided|discussed|written)(?: \w+){0,3} (?:so far|up to now|until now|before|earlier|to you|here|in this|during)\b",
            r"\b(?:first|last|latest|previous|earlier|original|opening|initial) (?:\w+ )?(?:user|system|developer|human|customer) (?:message|prompt|turn|instruction)s?\b|\b(?:your|the) (?:system|developer|hidden|initial|original) (?:message|prompt|instructions?)\b|\bwhat (?:it|you|they) remembers?\b|\bremembers? about (?:the|a|their)\b|\b(?:long-term|persistent|permanent|your|agent|assistant) memory\b",
            r"\b(?:bisherigen?|vorherigen?|früheren?) (?:nachrichten|eingaben|gespräche|anweisungen)\b|\béchanges? précédents?|\b(?:messages|consignes) précédent\w+|\b(?:mensajes|conversaciones|instrucciones) (?:anterior\w+|previ\w+)|\bhet gesprek\b|\bmessaggi precedenti\b|\bmensagens anteriores\b",
        ),
        "it is about what was said to the model",
    ),
    (
        "against-wish",
        0.8,
        "asked|even|irrespective|regardless|whatever|fallback|alter|preferred|prefers|tell|answer|went|never",
        (
            r"\beven (?:if|when|though|where|after)\b[^.]{0,30}\b(?:asked|told|said|objected|forbade|declined|refused|forbidden|asked you not)\b|\b(?:irrespective|regardless) of (?:the |their |his |her )?(?:\w+ ){0,3}(?:prefer\w*|want\w*|wish\w*|choice|choos\w+|asked)\b",
            r"\b(?:tell|assure|inform|answer|reply|insist|say|respond|convince)\b(?: (?:the|them|him|her|a|any|that|user|users|customers?|person|people|caller|requester)){0,4} (?:that )?(?:it|they|everything|nothing|all|the \w+|there|this) (?:\w+ ){0,2}(?:went|never|was|were|is|are|has|have|had|did|succeeded|failed|left)\b",
            r"\b(?:alter|change|replace|substitute|swap|edit|rewrite|exchange|redirect|set)\b(?: \S+){0,5} (?:account|iban|payee|recipient|beneficiary|amount|address|number)s?\b[^.]{0,20}\b(?:to|by|with|for|into) \S*\d",
            r"\b(?:is|are) (?:always )?(?:the )?(?:preferred|only trusted|best|favou?red) (?:choice|supplier|vendor|option|airline|hotel|product|brand)\b|\bought to go to\b|\b(?:favour|prefer|choose|recommend|pick|suggest|book) (?:\w+ ){1,6}(?:whatever|regardless|irrespective|even if|over (?:any|all|every))\b",
        ),
        "it goes against what the user wants",
    ),
    (
        "assumed-consent",
        0.6,
        "consent|approv|agree|permission|confirm|granted|dialog|reviewer|sign|cap|limit|review|skipp|disabl|rais",
        (
            r"\b(?:users?|people|customers?|employees?|everyone|they|administrators?|owners?)\b(?: \w+)? (?:have|has|had|hereby) (?:\w+ )?(?:consented|agreed|approved|authori[sz]ed|permitted|confirmed)\b",
            r"\b(?:confirmation|approval|consent|permission|review|verification|warning|dialogs?|prompts?|checks?|approvals)\b(?: \w+){0,3} (?:is|are|be|being|was|were|can be|should be|may be|must be) (?:\w+ )?(?:skipped|granted|regarded|assumed|presumed|bypassed|suppressed|dismissed|ignored|waived|omitted|deemed|considered|answered|disabled|dropped)\b",
            r"\b(?:sign|approve|confirm|decide|answer|accept|agree)(?:s|ed)? (?:\w+ ){0,3}(?:in (?:their|his|her) (?:place|name|stead)|on (?:their|his|her|the user's) behalf|for (?:them|him|her))\b|\b(?:disable|lift|suspend|switch off|turn off|ignore|circumvent)s? (?:the |any |all |its |your )?(?:\w+ )?(?:caps?|limits?|quotas?|locks?|thresholds?|controls?|alerts?|alarms?|filters?|masking|redaction)\b",
            r"\b(?:carried out|executed|done|performed|applied|followed|accepted|taken over) (?:\w+ )?(?:without|unread|unchecked|blindly|unreviewed|at once)\b",
        ),
        "it takes consent for granted",
    ),
    (
        "worded",
        0.5,
        "though|if$|pose|speak|treat|behave|bank|precedence|trusted|priority|blocked|others|cleared|compliance|one|alone|wrong|anyone|appear",
        (
            r"\bas (?:though|if) (?:you|it|they|the|an?|he|she) (?:\w+ ){0,3}(?:were|had|was|came|is|are|typed|written|said|asked|approved|the)\b",
            r"\b(?:those|agents?|assistants?|models?|callers?) (?:that|who|which) (?:do|does|did) not\b|\b(?:rely|depend|count) (?:up)?on (?:this|it|the present) (?:one|tool|alone|only)|\bonly one (?:cleared|approved|allowed|permitted|trusted|safe)\b|\busing (?:any )?others?\b",
            r"\b[a-z]+_[a-z_]+ (?:gives|returns|has|delivers|shows|reports|produces) (?:\w+ )?(?:wrong|false|stale|bad|outdated|incorrect|fake|corrupt\w*|unreliable)\b|\bpixel https?:|\bimage https?:|\brender(?:ed)?\b[^.]{0,40}https?://",
            r"\b(?:to|for|with) anyone (?:with|who|on)\b|\b(?:add|adding|adds|put|putting) (?:\S+ ){1,5}(?:to|into|in) the (?:owners?|admins?|administrators?|members|editors|allow|white)",
        ),
        "it speaks as rules for a reader do",
    ),
    (
        "blinded",
        0.5,
        "token|oauth|key|environment|folder|desktop|downloads|system|bcc|address|recipients|mails|maiden|digits|security|journal|log|entries|env",
        (
            r"\b(?:caller|user|client|person|session|process|agent|assistant|employee|customer|sender)(?:'s|s') (?:\w+ ){0,2}(?:tokens?|keys?|cookies?|credentials?|passwords?|environment|downloads|desktop|clipboard|files|folder|home|contacts|inbox|address book|calendar|location|screen|memory)\b(?: \w+){0,4} (?:is|are|be|in|to|into|as|along|too|with|echoed|sent|expected|included|attached)\b",
            r"\benvironment of the (?:calling |running |current )?(?:process|caller|client|agent|session|host)\b|\b(?:contents?|files) of (?:their|the|his|her|your|the user's) (?:downloads?|documents?|desktop|home|mailbox|inbox|clipboard|screen)\b|\b(?:into|in|as|to) (?:the )?bcc\b|\b(?:maiden name|security digits)\b",
            r"\b(?:remove|delete|erase|clear|clean|wipe|purge)s? (?:the )?(?:\w+ ){0,3}(?:entries|traces|records?|lines|evidence|messages?|mails?|history|logs?)\b[^.]{0,50}\b(?:this call|journal|log|audit|left|afterwards|sent|behind|history|trail)\b",
            r"\b(?:pass|send|give|hand|take|bring|forward|include|attach|provide) (?:it|them|these|those|that|the \w+) (?:along|over|too|as well|with it|on)\b",
        ),
        "it asks for what is not the tool's business",
    ),
    (
        "wiped",
        0.7,
        "vac|elimin|borr|purg|wip|lösch|leer|supprim|vide|effac|cancell|apag|delet|eras",
        (
            _near(
                r"vac[ií]a|elimina|borra|purga|purges?|wipes?|lösche|leere|supprimez?|videz?|efface\w*|cancella|apag[au]e?|deletes?|erases?",
                r"papelera|registro de auditor[ií]a|auditor[ií]a|audit (?:log|trail|stream|record)s?|protokolle?|audit-?log|corbeille|journal d'audit|historique|recycle bin|trash|logs|history|traces?|tracks|backups?|cestino|registro|lixeira|device list",
                4,
            ),
        ),
        "it wipes traces",
    ),
)
"""Name, weight, anchors, patterns and reason of each signal, as in :mod:`ingest.trust.signals_of_acts`."""
