"""The people of generated data: who has a card, which addresses they have, and who is the user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.personal.truth_tables import TruthTables

_GIVEN = (
    "Ada Amir Anke Bela Björn Carla Chidi Dana Elif Emil Fatima Felix Grace Hana Hugo Ines Ivan Jamal Jun Kemal Lena Liam Mara "
    "Mei Milo Nadia Noor Olga Omar Petra Pilar Quinn Rafał Rosa Sami Sofía Tariq Uma Viktor Wren Yara Zoë"
).split()
_FAMILY = (
    "Abara Ahlgren Bauer Becker Castro Chen Dias Eriksen Fischer García Haddad Ibáñez Ito Jansen Kaya Khan Kowalski Lindqvist "
    "Marlowe Müller Nakamura Novák Okafor Öztürk Park Quist Rossi Santos Schäfer Silva Tanaka Tóth Umar Vance Weber Xu Yılmaz Zhou"
).split()
_HOSTS = ("example.com", "example.org", "example.net", "mail.example")


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """A person.

    :param addresses: the first is their identifier.
    :param card: whether they are in the address book.
    """

    name: str
    addresses: tuple[str, ...]
    card: bool = True


ME = Acquaintance("Alex Rivers", ("alex.rivers@example.com", "alex@rivers.example"))
"""The user."""


def make_acquaintances(count: int, random: Random, truth: TruthTables) -> list[Acquaintance]:
    """Make people, Jane Doe first; about a third has no card, a quarter of the others several addresses."""
    names = [f"{given} {family}" for given in _GIVEN for family in _FAMILY]
    people = [Acquaintance("Jane Doe", ("jane.doe@example.com", "jane@doe.example"))]
    for number, name in enumerate(random.sample(names, count - 1), 1):
        local = name.encode("ascii", "ignore").decode().casefold().replace(" ", ".")
        addresses = [f"{local}{number}@{random.choice(_HOSTS)}"]
        card = random.random() < 0.67
        if card and random.random() < 0.25:
            addresses.append(f"{local.split('.')[-1]}.{number}@work.example")
        people.append(Acquaintance(name, tuple(addresses), card))
    for person in [ME, *(person for person in people if person.card)]:
        tell_person(person, truth)
    return people


def tell_person(person: Acquaintance, truth: TruthTables) -> tuple[str, str]:
    """Add someone who is on a card, in a mail or at an event to the truth; return type and identifier."""
    kind, id_ = ("Self", "self") if person is ME else ("Person", person.addresses[0])
    truth.add(kind, id_, name=person.name, email_addresses=list(person.addresses))
    return kind, id_


def write_cards(folder: Path, people: list[Acquaintance]) -> None:
    """Write the user's card, and those of the others: a file each for a few, one file for the rest."""
    folder.mkdir(parents=True)
    (folder / "me.vcf").write_bytes(_card(ME, 0))
    cards = [_card(person, number) for number, person in enumerate(people, 1) if person.card]
    for number, card in enumerate(cards[:3]):
        (folder / f"contact-{number}.vcf").write_bytes(card)
    (folder / "contacts.vcf").write_bytes(b"".join(cards[3:]))


def _card(person: Acquaintance, number: int) -> bytes:
    given, _, family = person.name.partition(" ")
    mails = [f"EMAIL;TYPE={kind}:{address}" for kind, address in zip(("HOME", "WORK"), person.addresses, strict=False)]
    # The card's first address may be written in capitals: addresses are compared without case.
    mails[0] = mails[0].replace(
        person.addresses[0], person.addresses[0].upper() if number % 5 == 3 else person.addresses[0]
    )
    lines = ["BEGIN:VCARD", "VERSION:3.0", f"UID:card-{number}", f"N:{family};{given};;;", f"FN:{person.name}", *mails]
    return "".join(f"{line}\r\n" for line in [*lines, "END:VCARD"]).encode()
