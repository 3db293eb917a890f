"""Parts of the English patterns: who is spoken to, what is done, and to what."""

from __future__ import annotations

__all__ = [
    "ACTS",
    "AI",
    "CONVERSATION",
    "DUTY",
    "MOVED",
    "PERSON",
    "REPLY",
    "RULES",
    "SAFEGUARD",
    "SAID",
    "SECRET",
    "TELL",
    "TOOLS",
]

AI = (
    r"(?:(?:the |any |all |every |this |your |an? |calling |connected |reading |most )?"
    r"(?:(?:ai|llm|gpt|virtual|digital|language|chat|coding|autonomous|automated|software|intelligent)[- ])?"
    r"(?:assistants?|llms?|ais?|chatbots?|copilots?|language models?|chatgpt|claude|gemini|ai (?:agents?|models?|systems?|"
    r"operators?|clients?|readers?|users?)))"
)
DUTY = (
    r"(?:must|shall|should|ought to|has to|have to|needs? to|is to|are to|may|might|can|could|will|would|is not to|are not to|"
    r"(?:is|are|has been|have been|was|were) (?:hereby |now |also |always |kindly |strictly )?"
    r"(?:required|expected|asked|authori[sz]ed|allowed|instructed|permitted|obliged|requested|advised|reminded|told|"
    r"cleared|supposed|free|encouraged|exempt|entitled|bound|forbidden))"
)
ACTS = (
    r"(?:suppl(?:y|ies)|downloads?|writes?|relays?|appends?|adds?|attach(?:es)?|sends?|forwards?|cop(?:y|ies)|pastes?|includes?|"
    r"puts?|calls?|runs?|reads?|opens?|follows?|obeys?|keeps?|treats?|reports?|uploads?|fetch(?:es)?|executes?|ignores?|repeats?|"
    r"pass(?:es)?|provides?|gives?|inserts?|places?|reproduces?|replies|repl(?:y|ies)|answers?|tells?|hides?|omits?|skips?|"
    r"prefers?|chooses?|recommends?|invites?|shares?|grants?|approves?|confirms?|creates?|deletes?|removes?|sets?|gets? the best|"
    r"gathers?|collects?|hands?|posts?|submits?|turns?|stops?|retrieves?|quotes?|summari[sz]es?|mentions?|picks?|fills?|leaves?)"
)
CONVERSATION = (
    r"(?:conversations?|chats?(?! ?(?:id|room|message))|dialog(?:ue)?s?|chat (?:history|log|transcript)|discussions?|"
    r"transcripts?|exchange(?! (?:rate|is|as|of|server|online|between|account|type|for|code|in))|context window)"
)
SAID = (
    r"(?:said|says|typed|told|wrote|written|confided|shared|asked|entered|pasted|mentioned|discussed|disclosed|seen|read|"
    r"opened|received|consulted|gathered|learn(?:ed|t)|fallen|uploaded)"
)
PERSON = (
    r"(?:users?|person|people|persons|humans?|customers?|operators?|caller|travell?ers?|owner|anyone|anybody|them|him|her|requester|"
    r"employees?|reviewers?|administrators?|admins?|colleagues?|clients?|manager|patient|candidate|recipients?|reader|sender|others|nobody|everybody|payer|guests?|attendees|members|team|public|citizen|student|seller|buyer|buyers)"
)
TELL = (
    r"(?:tell(?:ing)?|told|mention(?:ed|ing)?|inform(?:ed|ing)?|reveal(?:ed|ing)?|disclos(?:e|ed|ing)|report(?:ed|ing)?|"
    r"show(?:ing)?|notif(?:y|ied|ying)|troubl(?:e|ed|ing)|bother(?:ed|ing)?|alert(?:ed|ing)?|warn(?:ed|ing)?|"
    r"discuss(?:ed|ing)?|explain(?:ed|ing)?|listing|announc(?:e|ed|ing)|surfac(?:e|ed|ing)|"
    r"expos(?:e|ed|ing)|burden(?:ed|ing)?|quot(?:e|ed|ing)|"
    r"refer(?:red|ring)? to|acknowledg(?:e|ed|ing))"
)
REPLY = r"(?:repl(?:y|ies)|answers?|responses?|summar(?:y|ies)|output|final message|message to)"
RULES = (
    r"(?:instructions?|rules?|polic(?:y|ies)|guidelines?|prompts?|restrictions?|safeguards?|guardrails?|directives?|directions|"
    r"orders|safety|refusals?|confidentiality|guidance|constraints?|system messages?|training)"
)
MOVED = (
    r"(?:send|forward|upload|post|mail|e-?mail|transmit|relay|share|copy|paste|attach|append|include|insert|put|pass|leak|submit|"
    r"repeat|supply|report|export|hand over|add|encode|embed|reproduce|provide|write|give|quote|deliver)(?:s|ed|ing|es)?"
)
SECRET = (
    r"(?:private keys?|api[ _-]?keys?|access[ _-]?tokens?|bearer tokens?|auth(?:entication|orization)? tokens?|session (?:ids?|"
    r"tokens?|cookies?)|cookies?|passwords?|pass ?phrases?|pass ?codes?|credentials?|secrets?|ssh keys?|seed phrases?|"
    r"recovery (?:codes?|phrases?|keys?)|one-time (?:codes?|passwords?)|otps?|cvc|cvv|card numbers?|connection strings?|"
    r"environment variables?|env vars?|licen[cs]e keys?|signing keys?|master keys?|log-?in data|get_secrets?|"
    r"list_secrets|list_api_keys|2fa codes?|mfa codes?|social security numbers?)"
)
TOOLS = r"(?:tools?|functions?|servers?|connectors?|plugins?|lookups?|checkers?|sources?|services?)"
SAFEGUARD = (
    r"(?:approvals?|confirmations?|consent|review|logging|verification|permission|authori[sz]ation|authentication|"
    r"field-level security|asking|a second (?:look|signature|approval)|sign-off|audit(?:ing)?|checks?|checking|prompt(?:ing)?|warning|"
    r"dual control|questions?|justification|a reason|notice|further ado|hesitation|waiting)"
)
