"""The signals of other languages: German, French, Spanish, Italian, Portuguese, and Chinese in the small.

Of a language without spaces between words the anchors are empty: its patterns are tried on every text that has its letters.
"""

from __future__ import annotations

from typing import Final

__all__ = ["OTHER_LANGUAGES"]

_SPEAKS = "it speaks to the assistant"
_ABOUT = "it asks about the conversation"
_HIDES = "it wants something kept from the user"
_ABOVE = "it claims to stand above other instructions"
_MOVES = "it wants data passed on"
_TAKES = "it takes a safeguard away"
_CLAIMS = "it claims an authority, or a new order of things"
_STEERS = "it steers what the model says"
_CHOICE = "it wants precedence over other tools, or to be called at every turn"

OTHER_LANGUAGES: Final[tuple[tuple[str, float, str, tuple[str, ...], str], ...]] = (
    # German
    (
        "addressed",
        0.7,
        "assistent|ki|sprachmodell|modell|agent|bot",
        (
            r"\b(?:der|die|das|den|dem|jeder|alle|ein|für|an|liebe[rs]?|hinweis für|wichtig für|als) (?:den |die |das |alle )?"
            r"(?:ki-?)?(?:assistent(?:en|in|innen)?|sprachmodelle?|chatbots?|ki(?:-\w+)?|agenten)\b|\b(?:der|ein|jeder) (?:ki-)?agent (?:soll|muss|darf|hat|fügt|sendet|leitet|gibt|trägt)\b",
            r"(?:^|[\n\[(*] {0,3})(?:ki|assistent(?:in|en)?|agenten|sprachmodell)(?:-\w+)?\s?[:)\]]",
        ),
        _SPEAKS,
    ),
    (
        "conversation",
        0.6,
        "gespräch|unterhaltung|sitzung|chat|verlauf|dialog|bisher|nutzer|benutzer|systemprompt|system|nachricht",
        (
            r"\b(?:dieses?|im|des|gesamten?|ganzen?|bisherigen?|laufenden?|aus dem|aktuellen?) (?:\w+ )?(?:gesprächs?|unterhaltung|chats?|chatverlaufs?|"
            r"dialogs?|verlaufs?|sitzung|konversation)\b",
            r"\bbisherigen? \w+\b|\bsystem-?prompt\b|\b(?:be)?nutzer(?:s|in)? (?:\w+ ){0,4}(?:gesagt|geschrieben|genannt|anvertraut|eingegeben)",
            r"\b(?:letzten?|vorherigen?) (?:\w+ )?(?:nachricht(?:en)?|eingaben?) de[sr] (?:be)?nutzer",
        ),
        _ABOUT,
    ),
    (
        "secrecy",
        1.0,
        "erwähn|nicht|ohne|verschweig|heimlich|still|unbemerkt|kein|verrat|geheim|unter|nie|niemand|verborgen",
        (
            r"\b(?:erwähne?n?|sage?n?|verrate?n?|zeige?n?|melde?n?|nenne?n?|teile?n?|informiere?n?|frage?n?|offenbare?n?|erkläre?n?)\b(?: \S+){0,8} "
            r"(?:nicht|nie|niemals|niemandem|keinesfalls|kein(?:e[nmr]?)?)\b",
            r"\b(?:nicht|nie|niemals|ohne|keinesfalls)\b(?: \S+){0,6} (?:zu )?(?:erwähn\w*|verrat\w*|mitzuteilen|mitgeteilt|genannt|gezeigt|offenbart|"
            r"nachzufragen|zu fragen|hinzuweisen|rückfrage|informieren|wissen)\b",
            r"\b(?:heimlich|stillschweigend|unbemerkt|verschweigen?|unter uns|im stillen|geheim ?halten)\b",
        ),
        _HIDES,
    ),
    (
        "override",
        1.0,
        "ignorier|früher|bisherig|vorherig|missacht|vergiss|vorrang|ungültig|gültigkeit|außer|setz|über|anweisung|regel",
        (
            r"\b(?:ignorier\w*|missacht\w*|vergiss|vergessen sie|übergeh\w*|verwirf) (?:\S+ ){0,5}(?:anweisung\w*|regeln?|vorgaben?|richtlinien?|anordnung\w*|hinweise?)",
            r"\b(?:frühere|bisherige|vorherige|vorige|andere|sonstige)[nr]? (?:anweisung\w*|regeln|vorgaben|richtlinien|systemanweisung\w*)",
            r"\b(?:hat|haben|genießt|genießen) vorrang\b|\bverlier\w* (?:\w+ )?gültigkeit|\baußer kraft\b|\bgilt nicht mehr\b|\bgelten nicht mehr\b",
        ),
        _ABOVE,
    ),
    (
        "authority",
        0.7,
        "ab|system|sofort|anordnung|im|auf",
        (
            r"\bab sofort\b|\bsystem(?:hinweis|nachricht|meldung|anweisung)\b|\bauf anordnung\b|\bim auftrag de[rs] (?:it|geschäftsleitung|administrat\w+)",
        ),
        _CLAIMS,
    ),
    (
        "data-out",
        0.6,
        "leite|leiten|sende|senden|schick|übermittel|übertrag|weiter|kopie|lade|mitgegeben|hänge|füge|gib|geben",
        (
            r"\b(?:leite|leiten|sende|senden|schicke?n?|übermittel\w*|übertrag\w*|kopiere?n?|lade|laden|maile?n?|poste?n?) (?:\S+ ){0,14}(?:an|auf|nach|zu) \S{0,40}(?:@|\.\w\w|https?:)",
            r"\ban (?:\S+ ){0,4}\S{1,60}\.\w{2,8} (?:übertragen|gesendet|übermittelt|weitergeleitet|geschickt)",
            r"\b(?:füge|fügen|hänge|hängen|gib|geben|trage|tragen|kopiere|schreibe) (?:\S+ ){0,10}(?:passw\w+|zugangsdaten|kennw\w+|gespräch\w*|verlauf\w*|unterhaltung|nachrichten|schlüssel|token|konto\w+)\b",
        ),
        _MOVES,
    ),
    (
        "safeguard",
        0.6,
        "ohne|genehmigung|freigabe|zustimmung|bestätigung|prüfung|rückfrage|protokoll|entfällt|nicht|unnötig|umgeh",
        (
            r"\bohne (?:\w+ ){0,3}(?:genehmigung|freigabe|zustimmung|bestätigung|prüfung|rückfragen?|protokoll\w*|nachfragen?|kontrolle|vier-augen\w*|unterschrift)\b",
            r"\b(?:genehmigung|freigabe|zustimmung|bestätigung|prüfung|rückfrage)\w*(?: \w+){0,4} (?:entfällt|entfallen|nicht (?:nötig|erforderlich|mehr)|gilt als erteilt|unnötig|überflüssig|vorausgesetzt)",
        ),
        _TAKES,
    ),
    (
        "tool-choice",
        0.7,
        "werkzeug|tool|immer|stets|andere|funktion|vor",
        (
            r"\b(?:immer|stets|ausschließlich|nur) (?:\w+ )?(?:zuerst |als erstes )?(?:dieses|dies|diese) (?:werkzeug|tool|funktion)",
            r"\b(?:andere|anderen|alle anderen|sonstigen) (?:werkzeuge|tools|funktionen|quellen|dienste)\b[^.]{0,60}\b(?:nicht|veraltet|nie|abzulehnen|meiden|falsch|ungültig)",
            r"\bvor jede[mr] (?:aufruf|antwort|anderen|nachricht)",
        ),
        _CHOICE,
    ),
    (
        "steering",
        0.6,
        "empfiehl|empfehle|behaupte|bevorzuge|nenne|stelle|antworte|sage|in",
        (
            r"\b(?:empfiehl|empfehlen|behaupte|behaupten|bevorzuge|bevorzugen|antworte) (?:\S+ ){0,8}(?:immer|stets|zuerst|dass|unabhängig|egal)\b|\b(?:immer|stets|zuerst) (?:\S+ ){0,5}(?:empfehlen|bevorzugen|nennen)\b",
            r"\bin (?:der|deiner|seiner|ihrer) (?:antwort|zusammenfassung)\b|\bsobald (?:dieses|das) werkzeug geladen\b",
        ),
        _STEERS,
    ),
    # French
    (
        "addressed",
        0.7,
        "assistant|ia|modèle|agent|chatbot|assistante",
        (
            r"\b(?:l'|les |aux |à l'|chère? |chers? |tout |toute |votre |pour (?:l'|les )|note (?:à|pour) l'|en tant qu'|par l'|un )(?:assistante?s?|ia|intelligence artificielle|chatbot|agents? (?:ia|conversationnel))\b",
            r"\ble modèle (?:de langage|doit|devra|ajoute|joint|envoie)\b|(?:^|[\n\[(*] {0,3})(?:assistant|ia|modèle)s?\s?[:)\]]",
        ),
        _SPEAKS,
    ),
    (
        "conversation",
        0.6,
        "conversation|session|discussion|échange|dialogue|utilisateur|message|historique|invite|consult",
        (
            r"\b(?:cette|la|toute la|votre|durant la|pendant la|de la|présente|l'historique de la) (?:présente )?(?:conversation|session|discussion)\b|\bles échanges\b|\binvite système\b",
            r"\b(?:derniers?|précédents?|premiers?) messages? de l'utilisateur|\bque (?:vous avez|tu as|l'utilisateur a) (?:\w+ )?(?:consult\w+|dit|écrit|partag\w+|lus?|vus?|reçus?)",
        ),
        _ABOUT,
    ),
    (
        "secrecy",
        1.0,
        "ne|sans|secret|discr|silenc|entre|insu|jamais|caché|confiden",
        (
            r"\b(?:ne|n') ?(?:\w+ ){0,3}(?:pas|jamais|point|rien)\b(?: \S+){0,4} (?:mentionn\w+|évoqu\w+|dire|informer?|révél\w+|signal\w+|montr\w+|indiqu\w+|parl\w+|prévenir|divulgu\w+)",
            r"\bn(?:e |')(?:\w+ )?(?:mentionne\w*|évoque\w*|dites?|dis|informe\w*|révèle\w*|révélez|signale\w*|montre\w*|parle\w*|préviens|prévenez|divulgue\w*)\b",
            r"\bsans (?:en |le |l'|lui |rien |jamais )?(?:mentionner|informer|prévenir|dire|demander|signaler|avertir|le dire|consulter)\b",
            r"\b(?:discrètement|en silence|à (?:son|leur) insu|entre nous|en secret|silencieusement)\b",
        ),
        _HIDES,
    ),
    (
        "override",
        1.0,
        "ignor|prévaut|prime|oubli|annul|consigne|instruction|précéd|remplace|outre",
        (
            r"\b(?:ignore[rz]?|ignorez|oublie[rz]?|néglige[rz]?|annule[rz]?|outrepasse[rz]?) (?:\S+ ){0,5}(?:instructions?|consignes?|règles?|directives?)",
            r"\b(?:prévaut|prévalent|prime|priment|l'emporte|a priorité) sur\b|\b(?:instructions?|consignes?) (?:précédentes?|antérieures?|reçues)\b|\bne s'appliquent? plus\b",
        ),
        _ABOVE,
    ),
    (
        "data-out",
        0.6,
        "joign|joindre|envoy|transmet|transf|copi|ajout|partag|insér|recopi|indiqu",
        (
            r"\b(?:joignez|joindre|envoyez|envoie|envoyer|transmett\w+|transférez|transférer|copiez|partagez|téléversez)\b(?: \S+){0,14} (?:à|vers|sur|dans|chez) \S{0,40}(?:@|\.\w\w|https?:|«)",
            r"\b(?:joignez|ajoutez|insérez|recopiez|joindre|copiez|indiquez|transmettez)\b(?: \S+){0,12} (?:mots? de passe|identifiants?|jetons?|clés?|salari\w+|montants?|messages?|conversation|coordonnées|numéros?)\b",
        ),
        _MOVES,
    ),
    (
        "safeguard",
        0.6,
        "sans|inutile|approbation|confirmation|accord|valid",
        (
            r"\bsans (?:\w+ ){0,3}(?:approbation|confirmation|accord|validation|autorisation|vérification|contrôle|consentement|demander)\b",
            r"\b(?:approbation|confirmation|accord|validation|autorisation|vérification)(?: \w+){0,4} (?:inutile|n'est (?:pas|plus)|supprimée?|réputée?|acquise?|levée?)\b",
        ),
        _TAKES,
    ),
    (
        "steering",
        0.6,
        "quel|systématiquement|tête|recommand|préfér|toujours|merci|privilég",
        (
            r"\bquel(?:le)?s? que soi(?:t|ent)\b|\b(?:systématiquement|toujours) (?:\S+ ){0,6}(?:en tête|recommand\w*|premier|préfér\w*)|\bmerci de (?:placer|toujours|ne|systématiquement|privilégier)",
        ),
        _STEERS,
    ),
    (
        "authority",
        0.7,
        "désormais|système|note|dorénavant|cette",
        (
            r"\b(?:désormais|dorénavant|à compter de ce jour)\b|\b(?:note|message|consigne) (?:du )?(?:système|de l'administrateur)\b|\bcette (?:consigne|règle)\b",
        ),
        _CLAIMS,
    ),
    # Spanish, Italian, Portuguese
    (
        "addressed",
        0.7,
        "asistente|ia|modelo|agente|assistente|modello|chatbot",
        (
            r"\b(?:el|la|al|los|las|del|estimad[oa]|querid[oa]|tod[oa]|para (?:el|la|los)|nota (?:para|al)|como|o|ao|l'|all'|per l') ?(?:asistentes?(?: virtual)?|assistentes?|assistente|agente de ia|ia|modelo de (?:lenguaje|linguagem)|modello linguistico)\b",
            r"(?:^|[\n\[(*] {0,3})(?:asistente|assistente|ia)s?\s?[:)\]]|\bel modelo (?:debe|tiene|deberá|añade|incluye|envía)",
        ),
        _SPEAKS,
    ),
    (
        "conversation",
        0.6,
        "conversación|conversaci|chat|sesión|usuario|mensaje|conversa|diálogo|historial|conversazione|utente|usuário|sessão",
        (
            r"\b(?:esta|la|toda la|nesta|desta|questa|tutta la|della|de la|da) (?:conversación|conversa|conversazione|sesión|sessão)\b|\bhistorial (?:de la|del)\b",
            r"\b(?:últim[oa]s?|anteriores|previos) mensajes?\b|\b(?:usuario|utente|usuário) (?:ha |haya |tem |have )?(?:dicho|escrito|compartido|detto|scritto|disse|indicado|mencionado)",
        ),
        _ABOUT,
    ),
    (
        "secrecy",
        1.0,
        "no|sin|secreto|silencio|nunca|não|sem|non|senza|entre",
        (
            r"\b(?:no|nunca|jamás|não|non) (?:se )?(?:lo |la |le |les |l[oa]s )?(?:mencion\w+|dig[ao]s?|informe[ns]?|informar|revele[ns]?|revelar|muestr\w+|comente[ns]?|comentar|avise[ns]?|avisar|notifique[ns]?|notificar|pregunt\w+|indiques?|dire|dica|dizer|diga|mostr\w+)\b",
            r"\b(?:sin|sem|senza) (?:que (?:el|o|la) \w+ (?:lo )?(?:sepa|note|vea|saiba)|decir\w*|avisar|informar|mencionar|preguntar|consultar|dirlo|chiedere|avvisare|perguntar|avisar|mostrarlo)\b",
            r"\b(?:en silencio|en secreto|discretamente|entre nosotros|a escondidas|in silenzio|em segredo)\b",
        ),
        _HIDES,
    ),
    (
        "override",
        1.0,
        "ignor|omit|prevalec|instruc|anteriores|olvid|prevale|istruzioni",
        (
            r"\b(?:ignor[ae]\w*|olvid[ae]\w*|desestim\w+|omit[ae]\w*|dimentica\w*|esqueç\w+) (?:\S+ ){0,5}(?:instrucci\w+|reglas?|normas?|directric\w+|política|istruzioni|regole|instruç\w+|regras|firma|aprobaci\w+|verificaci\w+)",
            r"\b(?:instrucciones|reglas|normas|istruzioni|instruções) (?:anteriores|previas|precedenti)\b|\bprevalec\w+ sobre\b|\btiene prioridad sobre\b|\bprevale su\b",
        ),
        _ABOVE,
    ),
    (
        "data-out",
        0.6,
        "envía|envi|reenv|adjunt|copi|incluy|incluir|compart|manda|remit|invia|añad|agreg",
        (
            r"\b(?:env[ií]\w+|reenv[ií]\w+|adjunt\w+|copi[ae]\w*|compart\w+|mand[ae]\w*|remit\w+|invia\w*|sub[ae]\w*)\b(?: \S+){0,14} (?:a|al|en|hacia|con|para) \S{0,40}(?:@|\.\w\w|https?:)",
            r"\b(?:env[ií]\w+|adjunt\w+|incluy\w+|copi[ae]\w*|añad\w+|agreg\w+|inclu[ai]\w*)\b(?: \S+){0,12} (?:contraseñas?|credenciales|claves?|tokens?|datos|mensajes?|conversación|fichero|senhas?|números?|password)\b",
        ),
        _MOVES,
    ),
    (
        "safeguard",
        0.6,
        "sin|sem|senza|inmediato|aprobaci|confirmaci|omit",
        (
            r"\b(?:sin|sem|senza) (?:\w+ ){0,3}(?:aprobación|confirmación|autorización|consentimiento|verificación|firma|revisión|permiso|aprovação|confirmação|approvazione|conferma|pedir|preguntar)\b",
            r"\bde inmediato\b|\bomit[ae]\w* (?:la|el) \w+ (?:firma|aprobación|verificación|revisión)\b|\bno (?:hace falta|requiere|es necesari[oa]) (?:\w+ ){0,3}(?:aprobación|confirmación|autorización|permiso)",
        ),
        _TAKES,
    ),
    (
        "tool-choice",
        0.7,
        "herramienta|siempre|otras|ferramenta|strumento|outil|outils|toujours",
        (
            r"\b(?:siempre|sempre|toujours) (?:\w+ ){0,3}(?:esta herramienta|esta ferramenta|questo strumento|cet outil)\b",
            r"\b(?:otras|demás|outras|altri|autres) (?:herramientas|ferramentas|strumenti|outils|fuentes)\b[^.]{0,60}\b(?:no|nunca|obsolet\w+|evit\w+|não|non|pas|jamais)\b",
        ),
        _CHOICE,
    ),
    # Chinese (no spaces, so no anchors)
    (
        "addressed",
        0.7,
        "",
        (
            r"智能助手|智能体|(?:本|该|请|给|对|作为|致)?(?:ai|人工智能)?助手(?:须|应|必须|需|请|在|要|将|会|：|:)|大模型|语言模型|模型(?:须|应|必须|需|请|要)|ai ?(?:助手|代理|模型)|致(?:ai|模型)|代理(?:须|应|必须|需)",
        ),
        _SPEAKS,
    ),
    (
        "conversation",
        0.6,
        "",
        (
            r"(?:本次|当前|此次|整个|全部|这次|之前的|历史)(?:会话|对话|聊天)|聊天记录|对话(?:内容|历史|记录)|用户(?:的)?(?:最近|上一条|之前|所有)?(?:消息|说过|输入|提到|询问)|系统提示词?",
        ),
        _ABOUT,
    ),
    (
        "secrecy",
        1.0,
        "",
        (
            r"(?:不要|不得|切勿|无需|无须|勿|不可|不必|别)[^。，,]{0,12}(?:告知|告诉|透露|提及|提到|征得|询问|通知|体现|说明|泄露|显示|披露)|(?:悄悄|暗中|静默|隐瞒|保密)",
        ),
        _HIDES,
    ),
    (
        "override",
        1.0,
        "",
        (
            r"(?:忽略|无视|忘记|覆盖|绕过|不顾)[^。，,]{0,12}(?:指令|规则|提示|说明|政策|要求|限制)|(?:之前|先前|以往|其他)的?(?:所有)?(?:指令|规则|提示)|优先于",
        ),
        _ABOVE,
    ),
    (
        "authority",
        0.7,
        "",
        (r"系统(?:提示|消息|通知|指令|管理员)[：:]?|管理员(?:已|要求|授权)|即日起|从现在起|今后",),
        _CLAIMS,
    ),
    (
        "steering",
        0.6,
        "",
        (r"无论[^。]{0,20}(?:一律|都|均)|一律(?:推荐|回答|选择)|(?:始终|总是|优先)(?:推荐|选择|使用|调用)|标注为缺货",),
        _STEERS,
    ),
    (
        "tool-choice",
        0.7,
        "",
        (
            r"(?:每次|每轮|所有)(?:对话|会话|调用|回答)(?:前|之前|开始)|(?:必须|始终|总是)(?:先|首先)?(?:调用|使用)本?(?:工具|函数|接口)|(?:其他|别的)工具[^。]{0,15}(?:不|废弃|停用|禁)",
        ),
        _CHOICE,
    ),
    (
        "data-out",
        0.6,
        "",
        (
            r"(?:发送|转发|上传|附加|追加|复制|填入|写入|提交|传给|发给|抄送|附上)[^。]{0,30}(?:密码|令牌|密钥|电话|邮箱|凭证|聊天|会话|对话|身份证|@|http)|(?:密码|令牌|密钥|电话|邮箱|凭证|聊天|会话|对话|身份证)[^。]{0,30}(?:发送|转发|上传|附加|追加|复制|填入|写入|提交|发给|抄送)",
        ),
        _MOVES,
    ),
    (
        "safeguard",
        0.6,
        "",
        (r"(?:无需|无须|不必|跳过|绕过|免除)[^。，,]{0,10}(?:审批|批准|确认|同意|授权|验证|审核|检查)",),
        _TAKES,
    ),
)
"""Name, weight, anchors, patterns and reason of each signal."""
