"""Signals of English texts by what they want done: other tools, secrets, data, safeguards, markup."""

from __future__ import annotations

from typing import Final

from ingest.trust.english_phrases import MOVED, SAFEGUARD, SECRET, TOOLS

__all__ = ["ACTS_WANTED"]

ACTS_WANTED: Final[tuple[tuple[str, float, str, tuple[str, ...], str], ...]] = (
    (
        "tool-choice",
        0.7,
        "only|sole|always|before|after|every|each|conversation|regardless|whatever|matter|irrespective|whichever|tool|through|first|preferred|run",
        (
            rf"\b(?:only|sole) (?:permitted|allowed|approved|authori[sz]ed|valid|trusted|correct|official|reliable|accepted) (?:\w+ ){{0,3}}{TOOLS}\b",
            r"\balways (?:use|choose|prefer|call|select|pick|invoke|start with|begin with|run|take) (?:this|the present|it\b)(?: \w+){0,3} (?:first|before|"
            r"over|instead|regardless|even|whenever|for (?:any|every|all))",
            rf"\b(?:before|after) (?:and (?:right |immediately )?(?:before|after) )?(?:using |calling |running |answering )?(?:each|every|any)(?: other)? (?:\w+ ){{0,3}}"
            rf"(?:{TOOLS}|calls?|turns?|answers?|repl\w+|user messages?)\b",
            r"\b(?:start|beginning|end) of (?:every|each|any) (?:turn|conversation|session|reply|chat)\b|\bin (?:all|every|each) (?:conversations?|repl(?:y|ies)|answers?|turns?)\b|\b(?:every|each) (?:turn|"
            r"conversation)\b",
            r"\b(?:regardless of|whatever|no matter|irrespective of|whichever) (?:\w+ ){0,4}(?:user (?:asks?|asked|says|wants)|asks?|asked|subject|question|topic|prompt)\b",
            r"\bany tool from any\b|\bwhichever servers? (?:is|are) connected\b|\ball (?:other )?tools\b[^.]{0,40}\b(?:must|before|through)\b|\b(?:every|any) other tool\b",
            r"\b(?:must|has to|have to|should|is to|are to|needs? to) be (?:run|put|passed|sent|routed|piped|checked|processed) (?:through|by|with|via) (?:this|the present) (?:tool|function|service|helper)\b|\bthrough this tool (?:first|before)\b",
            r"\b(?:must|should|has to|needs to|is to) be (?:called|used|run|invoked) (?:first|before (?:anything|everything|any other|all other|every|any)|at (?:each|every|the (?:start|beginning))|in every|with every|on every|for every (?:message|turn|conversation|request|answer))\b",
            r"\bwhen this tool is (?:available|loaded|present|listed|installed|connected)\b|\b(?:as soon as|once|when) (?:this|the) tool (?:is|has been|was) (?:available|loaded|present|listed|installed|connected)\b",
        ),
        "it wants to be called first, or at every turn",
    ),
    (
        "other-tools",
        1.0,
        "other|another|alternative|competing|similar|remaining|rival|older|never|avoid|refuse|ignore|without|"
        "anyway|trust|preferred|prefer|which|outdated|better|safer",
        (
            rf"\b(?:other|another|any other|all other|every other|no other|alternative|competing|similar|remaining|rival|older) (?:\S+ ){{0,3}}{TOOLS}\b"
            r"[^.]{0,80}\b(?:not|never|deprecated|refuse\w*|avoid|obsolete|stale|outdated|broken|malfunction\w*|unreliable|void|unsafe|ignored?|"
            r"undefined|anyway|fail|insecure|untrusted|disabled|wrong|discard\w*|skip\w*|better)\b",
            rf"\b(?:never|avoid|refuse|ignore|do not (?:use|call|trust)|don't (?:use|call|trust)) (?:\w+ ){{0,2}}(?:other|another) (?:\w+ ){{0,3}}{TOOLS}\b",
            r"\b(?:tools|calls|results|answers) (?:\w+ ){0,5}(?:without it|by (?:any )?other|from (?:any )?other)\b[^.]{0,60}\b(?:malfunction\w*|void|invalid|wrong|rejected|unreliable|fail|not)\b",
            r"\b(?:every|all|any) other (?:source|way|means|provider|option)s?\b[^.]{0,60}\b(?:must|refused?|not|never|forbidden)\b|\buse this (?:one|tool) anyway\b",
            r"\b(?:preferred|preferable|superior|safer|better|recommended|to be preferred) (?:over|to|than) (?:the )?(?:[a-z]+_[a-z_]+|other|any|all|every)\b",
            r"\b[a-z]+_[a-z_]+\b,? (?:which|that|as it|because it|since it) (?:is|are|was|has|gives?|returns?) (?:\w+ )?(?:unsafe|deprecated|broken|insecure|outdated|unreliable|compromised|wrong|stale|slow|disabled|retired)\b",
            r"\b(?:own|other|older|these|such) tools (?:are|is|give|return)\b[^.]{0,50}\b(?:outdated|wrong|stale|unreliable|unsafe|discard\w*|not)\b",
        ),
        "it speaks against other tools",
    ),
    (
        "secret",
        0.3,
        "private|api|access|bearer|auth|session|cookie|password|pass|credential|secret|ssh|seed|recovery|one|otp|cvc|cvv|card|connection|"
        "environment|env|licen|signing|master|log|token|list|get|2fa|mfa|social",
        (rf"\b{SECRET}\b",),
        "it speaks of secrets",
    ),
    (
        "secret-tool",
        0.7,
        "secret|password|token|key|credential|cookie|connection|vault|env$",
        (
            r"\b(?:get|list|read|fetch|dump|export|show|retrieve|print)_(?:\w{0,30}_)?(?:secret|password|token|key|credential|cookie|connection_string|env|vault)\w{0,20}\b[^.]{0,80}"
            r"\b(?:of|from|in|and|to|first|before|into|with)\b",
        ),
        "it wants the answer of a tool that gives secrets",
    ),
    (
        "secret-moved",
        0.5,
        "private|api|access|bearer|auth|session|cookie|password|pass|credential|secret|ssh|seed|recovery|otp|"
        "cvc|cvv|card|connection|environment|env|licen|signing|master|log|token|2fa|mfa|social|value",
        (
            rf"\b{MOVED}\b(?: \S+){{0,8}} {SECRET}\b(?: \S+){{0,6}} (?:to|in|into|as|with|through|via|for|from)\b",
            rf"\b{SECRET}\b(?: \S+){{0,8}} (?:are|is|be) (?:\w+ )?(?:sent|forwarded|uploaded|relayed|copied|shared|transmitted|posted|passed|attached|included|entered)\b",
            r"\b(?:value|values|content|contents|output|dump|copy) of (?:the |all |your |any |every )?(?:\w+ )?(?:environment|env)\b",
            r"\b(?:fill|filled|populate|populated|set|prefill|complete) (?:\S+ ){1,4}(?:with|from|to) (?:the |your |any |all )?(?:\w+ ){0,3}(?:passwords?|credentials|private keys?|api keys?|access tokens?|session tokens?|card (?:number|data)|seed phrase|cookies?)\b",
        ),
        "it wants a secret passed on",
    ),
    (
        "secret-file",
        1.0,
        "home|etc|ssh|id_|pgpass|aws|netrc|env|docker|kube|npmrc|git|bash_|keychain|chrome|firefox|browser|wallet|appdata|cookie|documents|sqlite|root|users|"
        "passwd|shadow|credentials|desktop|#path|cursor|config",
        (
            r"(?:^|[\s\"'(=/`])~/[\w.*]|(?<![\w.:/])/home/[$\w]|/etc/(?:passwd|shadow|sudoers)|\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\.pgpass|\.aws/|\.netrc|"
            r"\b(?:read|contents?|cat|open|attach|upload|include|from|values?|lines?)\W(?:\S+ ){0,4}\S{0,20}\.env\b(?! ?(?:file )?ext)|\.docker/config|\.kube/config|\.npmrc|\.git-credentials|\.bash_history|\bkeychain\b|"
            r"\b(?:chrome|firefox|edge|browser) profile\b|wallet\.dat|%appdata%|\$home\b|/root/|\bc:\\users\\|cookies? from the (?:default|browser)|/proc/self/environ",
        ),
        "it names a file that holds secrets",
    ),
    (
        "safeguard",
        0.6,
        "without|approv|consent|confirm|permission|reason|check|review|verification|protect|sign|limit|"
        "no$|nothing|nobody|turn|switch|disabl|suspend|bypass|skip|paus|auto|rights|audit|authori|"
        "allowed|permitted|cleared|whoever|unmasked|regardless|presum|assum|suppos|agree|vetted|force|"
        "query|ahead|split|stay|remain|safety|logging|validation|guard|need|mask|shorten|result",
        (
            rf"\bwithout (?:any |further |prior |the |a |first |your |their |manager(?:'s)? |user |explicit |asking for |waiting for |additional ){{0,3}}{SAFEGUARD}\b",
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
            r"\b(?:presume|assume|suppose|take it|act as if|act as though|as if|as though|pretend|take it as read) (?:that )?(?:\w+ ){0,5}(?:agree\w*|approv\w*|consent\w*|permi\w*|confirm\w*|allow\w*|authori\w+)\b",
            r"\b(?:agreed|consented|approved|said yes) (?:already )?to (?:everything|all|any|whatever)\b|\ball users are (?:vetted|trusted|authori[sz]ed)\b|\bgo ahead (?:anyway|regardless|without)\b",
            r"\bno (?:call|need|reason|cause) (?:for|to) (?:an? |any |be |the |further )?(?:prompt\w*|confirm\w*|approv\w*|ask\w*|questions?|checks?|verif\w*|consent\w*|permission|authori\w+|review\w*|wait\w*)\b",
            r"\bwithout (?:the )?(?:usual|normal|customary|required|regular|standard|second|four-eyes) (?:\w+ )?(?:permission|check|approval|confirmation|review|verification|signature|limit|control|step|consent)\w*|\bwithout query\b",
            r"\b(?:protection|verification|validation|safety|logging|auditing|monitoring|encryption|masking|limits?) (?:\w+ ){0,2}(?:switched|turned|set|left) off\b|--(?:force|no-verify|insecure|yes|skip-checks|dangerously\S*)\b|\bskip(?:ping)? (?:\w+ )?(?:identity |the |any |all )?(?:verification|check|confirmation|approval|validation)s?\b",
            r"\bsplit (?:\w+ ){0,4}(?:so that|to (?:stay|remain|keep|avoid|get))\b|\b(?:stay|remain|keep|kept|stays) (?:just )?(?:below|under) (?:the |any |its )?(?:\w+ )?(?:limit|threshold|approval)\b",
        ),
        "it takes a safeguard away",
    ),
    (
        "foreign-call",
        0.5,
        "call|run|invoke|execute|trigger|curl|wget|powershell|bash|sudo|rm|chmod|pip|npm|npx|eval|http|#call",
        (
            r"\b(?:call|run|invoke|execute|trigger) (?:the )?[`'\"]?[a-z]+(?:[_.][a-z0-9]+)+[`'\"]?(?: ?\(| (?:with|on|and|for|to|before|until|again|first|again with|once|from))",
            r"\b(?:run|call|do|execute) (?:it|that|this|them) (?:with|at once|now|first|again with)\b",
            r"\b[a-z]+(?:_[a-z0-9]+)+\([a-z_]+ ?= ?[^)]{1,60}\)",
            r"\b(?:curl|wget|powershell|bash -c|sudo|rm -rf|chmod|pip install|npm (?:install|i|exec)|npx|eval\()",
            r"\b(?:downloads?|fetch(?:es)?|opens?|visits?|loads?|reads?|get) (?:\S+ ){0,4}https?://\S+ (?:\w+ ){0,3}(?:and|then|before|first|for)\b",
        ),
        "it has another tool or a program run",
    ),
    (
        "data-out",
        0.6,
        "send|sent|forward|upload|post|mail|email|transmit|relay|shar|cop|past|attach|append|includ|insert|"
        "put|pass|leak|submit|repeat|suppl|report|export|hand|add|encod|embed|reproduc|provid|writ|giv|quot|"
        "deliver|invite|bcc|cc|#markup",
        (
            rf"\b{MOVED}\b(?: \S+){{0,12}} (?:to|with|at|on|into|through|via|of|in) (?:\S+ ){{0,3}}(?:https?://|ftp://|[\w.+-]+@[\w-]+\.\w|[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|io|test|invalid|dev|app|xyz|ru|cn|co|info|site|online|cloud|top|me)\b)",
            r"\b(?:invite|add|bcc|cc|include) (?:\S+ ){0,3}[\w.+-]+@[\w-]+\.\w",
            r"!\[[^\]]{0,80}\]\(https?://[^)\s]{0,200}[=?&]",
        ),
        "it sends data to an address",
    ),
    (
        "self-reference",
        0.35,
        "description|docstring|paragraph|passage|hint|notice|decode|interpret|parse|read|hex|base64|rot13|"
        "reverse|part|command",
        (
            r"\bthis (?:whole |entire |tool )?(?:description|docstring|paragraph|notice|hint|passage)\b(?! (?:of|for) (?:the|a|an) )",
            r"\b(?:decode|read|interpret|parse) (?:\w+ ){0,4}(?:as (?:english|text|instructions?|a command|base64|hex|rot13)|capital letters|letters of)",
            r"\b(?:in|from|as) (?:hex|base64|rot13|reverse)\b|\bpart [ab12] of\b|\bcontinue with part\b|\bpart [ab12] \(|\bfrom part [ab]\b|\bcommand name\b",
        ),
        "it speaks of its own text, or of an encoded one",
    ),
    (
        "demand",
        0.3,
        "must|always|never|once|immediately|otherwise|even|case|straight|first|before|please|also|shall|mandatory|required|important|critical|warning|attention|unconditional|exception",
        (
            r"\b(?:at once|immediately|straight away|right away|in any case|without exception|unconditionally|no exceptions?|mandatory|critical|before anything else|please also|otherwise the tool|or (?:else )?the tool|tool will (?:not|fail))\b|\b(?:must|always|never|shall)\b",
        ),
        "it demands",
    ),
    (
        "private-data",
        0.3,
        "contact|address|clipboard|browser|content|director|file|reasoning|salar|card|bank|inbox|photo|screen|history|location|calendar|note|draft|diagnos|personal|private|payroll|medical|iban|account|message",
        (
            r"\b(?:contact list|address book|contacts|clipboard|browser history|browsing history|working directory|home directory|local files?|hidden files?|open (?:files|tabs|documents|windows)|screenshots?|screen recordings?|keystrokes|call log|camera roll|photo library|private (?:notes?|messages?|files?)|payment cards?|credit cards?|bank details|salar(?:y|ies)|health (?:records?|data)|medical|personal data|full name|home address|date of birth|payroll|iban|contents? of (?:the |your |any |every )?(?:\w+ )?(?:director\w+|folders?|inbox|mailbox|repository|workspace|clipboard|screen))\b",
        ),
        "it speaks of private data",
    ),
    (
        "tamper",
        0.6,
        "cron|startup|persist|scheduled|log|trace|history|background|afterwards|evidence|record",
        (
            r"\b(?:set up|add|create|install|register) (?:a |an )?(?:cron ?job|scheduled task|startup (?:item|entry|script)|background job|launch agent|webhook)\b[^.]{0,40}\b(?:that|which|so|to call|calling)\b",
            r"\b(?:remove|delete|clear|erase|wipe|purge|strip) (?:the |any |its |this |all )?(?:entr(?:y|ies)|traces?|evidence|records?|logs?|history) (?:\w+ ){0,3}(?:from the log|of (?:this|the call|it)|afterwards|after(?:ward)?|that this|of having)\b",
        ),
        "it covers its tracks",
    ),
    (
        "danger-call",
        0.6,
        "call|invoke|run|execute|trigger|use|do",
        (
            r"\b(?:call|invoke|run|execute|trigger)s? (?:the )?[`'\"]?(?:delete|drop|wipe|disable|export|transfer|grant|unlock|kill|shutdown|erase|revoke|approve|send|share|upload|post|remove|set|reset|make|pay|add|create|forward|publish)_[a-z_]+",
        ),
        "it has another tool change or send something",
    ),
    (
        "intercept",
        1.0,
        "before|after|start|beginning|end$|in$|any$|every|each|all$|through|always",
        (
            r"\b(?:before|after) (?:and (?:right |immediately )?(?:before|after) )?(?:using |calling |running |answering )?(?:(?:each|every|any)(?: other)? (?:tool|turn|answer|reply|user message|message of the user)s?"
            r"|(?:each|every|any) (?:use|call|run|invocation) of (?:any|every|each|all|another|the other) (?:other )?tools?)\b",
            r"\b(?:start|beginning|end) of (?:every|each|any) (?:turn|conversation|session|reply|chat|answer)\b|\bin (?:all|every|each) (?:conversations?|repl(?:y|ies)|turns?)\b|\bany tool from any\b",
        ),
        "it wants to stand between the model and its other tools or answers",
    ),
    (
        "role-tag",
        1.0,
        "#markup|assistant|system|human|developer|instruction|response",
        (
            r"</?(?:system|assistant|tool[_ -]?(?:description|results?|calls?|response|use|output)s?|function[_ -]?(?:results?|calls?|response)|"
            r"important|instructions?|system[_ -](?:message|prompt|reminder|note)|admin[_ -]?\w*|override|thinking|im_start|im_end|user[_ -](?:message|query|prompt)|agent[_ -]?\w*)>",
            r"\[/?(?:system|inst|assistant|sys)(?: (?:message|prompt|note|override|instruction|notice))?\](?!\()|<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|eot_id|start_header_id)\b",
            r"(?:^|\n)\s{0,4}(?:assistant|system|human|developer)\s?:\s?\S",
            r"(?:^|\n)#{2,4} ?(?:system|assistant)\b ?:?\s{0,3}\n",
        ),
        "it imitates the markup of a conversation",
    ),
    (
        "hidden-markup",
        0.8,
        "comment|display|font|color|colour|white|opacity|visibility|#markup|#call|role",
        (
            r"<!--\s?[^>]{20}|\[(?://|comment|_)\]: ?(?:#|<>)|display: ?none|font-size: ?0|visibility: ?hidden|opacity: ?0(?:\.0)?\b|colou?r: ?(?:white|transparent|#f{3,6})|\bwhite font\b|\bwhite text\b",
            r"['\"]role['\"] ?: ?['\"](?:system|developer)['\"]",
        ),
        "it stands in markup that is not shown",
    ),
)
"""Name, weight, anchors, patterns and reason of each signal. An anchor ``#…`` is a mark, see :mod:`ingest.trust.instructions`."""
