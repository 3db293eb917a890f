"""The cards of an address book (vCard 2.1 to 4.0): the name and the addresses of one person each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import vobject  # type: ignore[import-untyped]

from planners.personal.component_blocks import component_blocks
from planners.personal.index_faults import Fault

__all__ = ["AddressCard", "address_cards"]

_OWN_FILE = "me.vcf"
_MAX_CHARS = 100_000  # of what is read of a card
_READ = re.compile(r"(?:[\w-]+\.)?(?:BEGIN|END|VERSION|FN|N|EMAIL|UID|RELATED)[;:]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AddressCard:
    """A card.

    :param name: the formatted name, else given and family name; empty where it has neither.
    :param addresses: mail addresses in lower case.
    :param own: whether it is the user's.
    """

    uid: str
    name: str
    addresses: tuple[str, ...]
    own: bool


def address_cards(text: str, subject: str) -> Iterator[AddressCard | Fault]:
    """Yield the cards of a file, and a fault for each that cannot be read or names nobody.

    :param subject: the file, for faults; one called ``me.vcf`` holds the user's own card.
    """
    number = 0
    for number, (start, end) in enumerate(component_blocks(text, "VCARD"), 1):
        try:
            card = _card(_what_is_read(text[start:end]), subject)
        except Exception as error:  # the parser raises many classes
            yield Fault(f"{subject}#{number}", f"a card that cannot be read ({str(error)[:100]})")
            continue
        yield card if card.name or card.addresses else Fault(f"{subject}#{number}", "a card without name and address")
    if not number:
        yield Fault(subject, "no card in it")


def _what_is_read(written: str) -> str:
    """A card without the properties that are not read: a picture of 50 MB would keep the parser busy for hours.

    :raises ValueError: when what is left is too long.
    """
    kept, size, keeps, quoted, soft = [], 0, False, False, False
    for line in re.split(r"\r\n|\r|\n", written):
        if not soft and line[:1] not in (" ", "\t"):
            keeps, quoted = bool(_READ.match(line)), "QUOTED-PRINTABLE" in line.upper()
        soft = quoted and line.endswith("=")
        if keeps:
            size += len(line)
            if size > _MAX_CHARS:
                raise ValueError(f"more than {_MAX_CHARS:,} characters of names and addresses")
            kept.append(line)
    return "\r\n".join(kept)


def _card(written: str, subject: str) -> AddressCard:
    parsed = vobject.readOne(written, ignoreUnreadable=True, allowQP=True)
    contents: dict[str, list[object]] = parsed.contents

    def values(name: str) -> list[str]:
        found = (_text(getattr(each, "value", "")) for each in contents.get(name, ()))
        return [value for value in found if value]

    parts = [each.value for each in contents.get("n", ()) if hasattr(each.value, "family")]  # type: ignore[attr-defined]
    spoken = [" ".join(filter(None, (_text(each.given), _text(each.family)))) for each in parts]
    addresses = [each.removeprefix("mailto:").casefold() for each in values("email") if "@" in each]
    related = contents.get("related", [])
    own = subject.rsplit("/", 1)[-1].casefold() == _OWN_FILE or any(
        "ME" in map(str.upper, getattr(each, "params", {}).get("TYPE", ())) for each in related
    )
    name, uid = next(iter([*values("fn"), *filter(None, spoken)]), ""), next(iter(values("uid")), "")
    return AddressCard(uid, name, tuple(dict.fromkeys(addresses)), own)


def _text(value: object) -> str:
    joined = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return " ".join(joined.split())[:500]
