"""Word lists for the documents of tools: what operations are called, and which words mean nothing alone."""

from __future__ import annotations

from ontology.names import verb_lemma
from ontology.stop_words import stop_words

__all__ = [
    "ACTIONS",
    "ALSO_NOUNS",
    "ATTRIBUTES",
    "GENERIC_HEADS",
    "LINKING_VERBS",
    "MOSTLY_NOUNS",
    "NOT_IDENTIFIERS",
    "NO_OBJECTS",
    "QUALIFIERS",
    "ROLE_WORDS",
    "STOP_WORDS",
    "TRANSPARENT_HEADS",
    "WRAPPERS",
    "action",
]

# Verbs that operations begin with, in base form.
ACTIONS = frozenset(
    "abort accept access acknowledge activate add adjust aggregate allocate allow analyze annotate append apply approve "
    "archive assign attach authenticate authorize backup ban batch begin block book browse build buy calculate call "
    "cancel capture change charge check checkout classify clean clear clone close collect combine compare complete "
    "compose compute configure confirm connect consume convert copy correct count create crop cut deactivate debit "
    "decline decode decrease decrypt define delegate delete deliver deploy describe detach detect determine disable "
    "disassociate discover dismiss display dispatch distribute download draft duplicate edit email enable encode encrypt "
    "end enqueue enroll ensure estimate evaluate exchange execute expire export extend extract fetch filter find finish "
    "fire flag follow forecast format forward freeze fulfill generate get give grant group hire hold identify import "
    "increase index initialize initiate insert inspect install invite invoke issue join kill launch leave like link list "
    "load locate lock log login look lookup make manage map mark match measure merge migrate modify monitor move mute "
    "navigate notify obtain offer open order organize parse patch pause pay perform permit pick pin place plan play "
    "poll populate post predict prepare prevent preview print process produce propose provide publish pull purchase "
    "purge push put query queue rank rate read rebook receive recommend record recover redeem refresh refund register "
    "reject release reload remind remove rename render renew reopen reorder repair replace reply report request "
    "reschedule reserve reset resize resolve respond restart restore restrict resume retrieve retry return reverse "
    "review revoke roll rotate run save scan schedule score search select send serve set share ship show shuffle "
    "sign simulate skip solve sort split start stop store stream submit subscribe suggest summarize suspend swap "
    "switch sync synchronize tag terminate test toggle trace track transcribe transfer transform translate trigger turn "
    "unassign unblock unfollow uninstall unlink unlock unpin unsubscribe update upgrade upload upsert validate verify "
    "view visualize void watch withdraw write zip".split()
)

# Of these, the ones that are also nouns.
ALSO_NOUNS = frozenset(
    "login lookup checkout backup access account address book call change charge count design display document email export filter flag forecast form format group "
    "help hire index invite invoice issue label leave like link load lock log map mark match measure need order patch pause pay "
    "permit pick pin place plan play poll post price print process produce purchase query queue rank rate read record refund "
    "release repair reply report request reset return review roll run sample save schedule score search set share ship show "
    "sign sort split start stop store stream supply support tag test time tool track transfer trigger try turn update upgrade upload use "
    "view visit watch work estimate exchange aggregate benefit block comment contact content copy credit debit delegate "
    "draft end import increase decrease monitor notice object offer present preview project progress push reserve".split()
)
# Of these, the ones that a description of an operation rarely begins with as a verb.
MOSTLY_NOUNS = frozenset(
    "access account address call charge design document email estimate form format group index issue label measure need order price process "
    "purchase queue rate record request return sample score sign sort supply support tag time tool "
    "visit work aggregate benefit comment contact content credit debit draft "
    "end notice object offer present project progress rank stream".split()
)


# Say that something is done rather than what: the verb they lead to is the action.
LINKING_VERBS = frozenset("allow enable let help permit use be serve intend design aim want need try make".split())

# Head nouns that stand for what follows "of" or "about": "a list of orders" is about orders.
TRANSPARENT_HEADS = frozenset(
    "list set number collection array group series sequence page batch bunch lot pair part kind sort type variety range "
    "amount total count detail details information info data record records object objects metadata overview summary "
    "result results copy instance example entry entries content contents history name names value values "
    "id identifier status version piece subset all each one any some bit chunk".split()
)

# Head nouns that name nothing of the business when they stand alone.
GENERIC_HEADS = TRANSPARENT_HEADS | frozenset(
    "request response api apis tool tools endpoint endpoints parameter parameters param params field fields argument "
    "arguments input inputs output outputs function functions method methods operation operations call calls query "
    "queries string strings integer integers int float double boolean bool number numbers char character characters "
    "json xml html csv http https url urls uri null none true false default option options element "
    "elements thing things way ways case cases time times use usage purpose property properties attribute attributes "
    "key keys code codes format formats filter filters limit offset sort index size length max min maximum "
    "minimum body header headers payload resource resources server user's format "
    "description descriptions text texts column "
    "criteria condition conditions flag first last next previous other others another same such addition "
    "current new following e.g i.e etc eg ie need needs ability basis sense end start beginning success failure "
    "access reference references specification specifications "
    "term terms word words date dates day days year years month months "
    "hour hours minute minutes second seconds today now level levels hello test demo sample iso utc yyyy mm dd id ids "
    "identifier identifiers uuid guid system systems application applications app apps manner mode "
    "fact point points view possibility "
    "entity entities enum dict dictionary tuple object map float64 int32 "
    "int64 percentage percent rest entire whole multiple single specified given specific certain possible available "
    "january february march april may june july august september october november december monday tuesday wednesday thursday "
    "friday saturday sunday add update delete stream someone anyone everyone something anything everything nothing comma millisecond milliseconds discretion constraint representation "
    "inactivity modification modifications change changes attention processing directive behavior behaviour importance possibility "
    "placeholder wildcard character standard convention syntax notation regex camelcase boolean integer kb mb gb px pixel pixels null undefined variable variables".split()
)

# Never part of a name at its edge.
STOP_WORDS = stop_words("name_edges")

# Segments of an output's path that only wrap what is returned.
WRAPPERS = frozenset(
    "result results data item items value values response body payload record records list content entries entry rows "
    "row d output outputs object objects attributes properties collection elements element hits docs resource resources "
    "embedded info details detail page nodes edges node edge meta root array success".split()
)

# Last words of a parameter that need the thing they belong to before they name anything.
QUALIFIERS = frozenset(
    "id ids identifier uuid guid name names code number no num key status type kind title description slug date label "
    "value state ref reference count total amount url uri link href version email phone text note comment "
    "created updated".split()
)

# Words that say what role an object plays, not which object it is: `parent_category_id` identifies a category.
ROLE_WORDS = frozenset(
    "parent child external internal unique current new old next previous max min since until before after my default "
    "primary secondary original specific given selected existing related first last start end from to source target "
    "the a an this of all any own main optional required requested is has total in out by".split()
)

# What an identifier of is no identifier of a thing of the business.
NO_OBJECTS = frozenset(
    "request response object entity resource element value field parameter datum data record row result query type index key code hash "
    "correlation trace id identifier name number attribute property metadata node list string version etag timestamp date time nonce "
    "schema namespace_ param input output text description label title status state default option filter".split()
)

# What a number, a code or a key of is no identifier of a thing: phone numbers, zip codes, API keys, page numbers.
NOT_IDENTIFIERS = frozenset(
    "phone telephone mobile cell fax page zip postal post status error http response result area access api public "
    "private secret sort shared signing encryption security line sequence house street building version max min total "
    "random serial floor week month year day date time row column index partition hot license verification "
    "authorization auth confirmation pin routing response return exit source qr bar color colour hex subscription "
    "idempotency cache primary foreign object map storage ssh foo session phase".split()
)

# Properties rather than objects: a parameter of this name refers to nothing on its own.
ATTRIBUTES = QUALIFIERS | frozenset(
    "email phone mobile fax page pages limit offset sort order query filter filters format date time datetime timestamp "
    "amount quantity language lang locale size length width height depth weight color colour unit units mode flag token "
    "cursor skip top top select expand search q s n x y z lat lng lon latitude longitude zip password username login "
    "secret url uri path callback redirect fields field include includes exclude exclusion count number radius distance min max "
    "minimum maximum start end begin first last from to since until before after by of per order sortby orderby "
    "timezone text message body content data value values payload input output result results response request "
    "parameter parameters param params option options setting settings config configuration meta metadata object json "
    "list array string type kind class category status state stage level priority reason comment note notes "
    "description summary title name label tag key code id hash checksum version revision etag scope range interval "
    "period duration timeout delay frequency rate ratio percentage percent score rank position index row column line "
    "enabled disabled active visible public private verbose debug pretty dry run force watch resource success error "
    "dimension precision side direction ascending descending asc desc window info information detail details "
    "day month year hour minute second week today created updated modified deleted gender age action method "
    "operation property properties attribute attributes item items entry entries element elements condition "
    "criteria keyword term phrase word example sample test default flags api apikey latlng geo uid sid pid gid "
    "is has can in out on at with for popularity homepage average backdrop path overview number kind "
    "creation expiry expiration availability visibility gt lt gte lte eq ne contain".split()
)


def action(word: str) -> str:
    """The base form of an operation's verb (``Fetches`` → ``fetch``), or empty when it is none."""
    base = verb_lemma(word.lower())
    return base if base in ACTIONS else ""
