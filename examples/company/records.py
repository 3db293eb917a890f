"""The records of the company: their kinds, as the documents speak of them, and the records themselves in SQLite.

An object that begins with the identifier of a kind is a view of a record of that kind: ``Supplier``, ``Scorecard`` and ``SupplierHit``
begin with ``supplierId`` and are views of one record. So the fields of a kind are those of all its views.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from examples.company.api_documents import Operation, Schema, no_record, wrong
from ontology.errors import InvalidArgumentError, StorageError

Record: TypeAlias = dict[str, Any]
_FOLDER = Path(__file__).parent
_DIGITS = re.compile(r"\d{2,}(?!.*\d{2})")
_NAMED = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
_TABLES = """
CREATE TABLE IF NOT EXISTS records (
    kind TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, fields TEXT NOT NULL, PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_number ON records (kind, number);
CREATE TABLE IF NOT EXISTS numbers (kind TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
"""


@cache
def facts() -> Mapping[str, Any]:
    """What the schemas of the documents do not say: ``company.yaml``, which explains its parts."""
    found: dict[str, Any] = yaml.load((_FOLDER / "company.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return found


@cache
def _first_records() -> tuple[tuple[str, Record], ...]:
    lines = (_FOLDER / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple((kind, record) for kind, record in map(json.loads, lines))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record.

    :param name: its key, with the system in front of one that means another thing elsewhere.
    :param parent: field that refers to the record that this one is a part of.
    :param first: the first record; those that are made take the required members that nobody gives from it.
    :param required: members without which a view of it is not valid.
    """

    name: str
    key: str
    system: str
    parent: str
    new: Mapping[str, Any]
    first: Record
    properties: dict[str, Schema] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)

    @property
    def is_numbered(self) -> bool:
        """Whether the key is a number that is unique within the parent only."""
        return self.properties.get(self.key, {}).get("type") == "integer"

    def id(self, value: Any, parent: Any) -> str:
        """The name of a record in the store, unique in its kind."""
        return f"{parent}/{value}" if self.is_numbered else str(value)


def first_property(schema: Schema | None) -> str:
    """The name of an object's first property, or empty."""
    return next(iter((schema or {}).get("properties", {})), "")


def row_schema(answer: Schema | None) -> tuple[Schema | None, str, bool]:
    """The schema of a record in an answer, the member that lists the records, and whether there are several.

    An object whose first member is a list of objects is an envelope around that list.
    """
    if answer is None:
        return None, "", False
    if answer.get("type") == "array":
        return answer["items"], "", True
    name = first_property(answer)
    first = answer.get("properties", {}).get(name, {})
    if first.get("type") == "array" and first["items"].get("properties"):
        return first["items"], name, True
    return answer, "", False


class Kinds:
    """All kinds, and which fields refer to them: what answers begin with, what paths name, and those of the facts."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self.by_name: dict[str, Kind] = {}
        self._roles = {role: kind for kind, names in facts()["roles"].items() for role in names}
        self._firsts = dict(reversed(_first_records()))
        for operation in operations:
            self._read(operation)
        for name, stated in facts()["kinds"].items():
            self._add(name, "", {"properties": stated.get("properties", {})})

    def _read(self, operation: Operation) -> None:
        schema, _, _ = row_schema(operation.answer)
        stated = facts()["operations"].get(operation.id, {})
        name = stated.get("kind") or self._qualified(first_property(schema), operation.system)
        if not name or not schema:
            return
        kind = self._add(name, operation.system, schema)
        kind.required.update(schema.get("required", ()))
        if operation.method == "POST" and kind.key not in operation.path_names:
            self._add(name, operation.system, operation.body or {})
        for parameter in operation.parameters:  # what a record of a sub-collection is a part of
            refers = stated.get("rename", {}).get(parameter.name, parameter.name)
            if parameter.place == "path" and refers != kind.key:
                kind.properties.setdefault(refers, parameter.schema)

    def _add(self, name: str, system: str, schema: Schema) -> Kind:
        if name not in self.by_name:
            own = facts()["kinds"].get(name, {})
            key, parent = own.get("key", name.rpartition(".")[2]), own.get("each", "")
            self.by_name[name] = Kind(name, key, system, parent, own.get("new", {}), self._firsts.get(name, {}))
        for member, inner in schema.get("properties", {}).items():
            self.by_name[name].properties.setdefault(member, inner)
        return self.by_name[name]

    def _qualified(self, key: str, system: str) -> str:
        return f"{system}.{key}" if system in facts()["homonyms"].get(key, ()) else key

    def of_key(self, key: str, system: str) -> Kind | None:
        """The kind that a key names in a system."""
        kind = self.by_name.get(self._qualified(key, system))
        return kind if kind is not None and kind.key == key else None

    def of_field(self, name: str, system: str) -> Kind | None:
        """The kind that a field refers to: by its key, or by a role such as ``managerId``."""
        return self.of_key(self._roles.get(name, name), system)

    def of_answer(self, operation: Operation) -> Kind | None:
        """The kind of record that an operation answers with."""
        stated = facts()["operations"].get(operation.id, {}).get("kind")
        key = first_property(row_schema(operation.answer)[0])
        return self.by_name[stated] if stated else self.of_key(key, operation.system)

    def nested(self, owner: Kind, name: str, schema: Schema, system: str) -> Kind | None:
        """The kind whose records a list in a view shows: one that has the key of the view's kind as a field."""
        if stated := facts()["nested"].get(f"{owner.name}.{name}"):
            return self.by_name[stated]
        if schema.get("type") != "array":
            return None
        kind = self.of_key(first_property(schema["items"]), system)
        return kind if kind and kind is not owner and owner.key in kind.properties else None


class CompanyRecords:
    """The records in a file. One transaction at a time; each sees all that was committed before it.

    :param path: the file; a new one gets the first records.
    :raises StorageError: when it cannot be opened.
    :raises InvalidArgumentError: when it is no database.
    """

    def __init__(self, path: Path, kinds: Kinds) -> None:
        self.kinds = kinds
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._sql = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._sql.execute("PRAGMA journal_mode=WAL")
            self._sql.executescript(_TABLES)
        except (OSError, sqlite3.OperationalError) as error:
            remedy = "Choose a folder that can be written"
            raise StorageError(f"cannot be opened: {error}", subject=str(path), remedy=remedy) from error
        except sqlite3.DatabaseError as error:
            problem = f"this is no database of the company: {error}"
            raise InvalidArgumentError(problem, subject=str(path), remedy="Choose an empty folder") from error
        with self.transaction():
            if self._sql.execute("SELECT 1 FROM records LIMIT 1").fetchone() is None:
                for name, record in _first_records():
                    self._store(kinds.by_name[name], record, self._next_number(name))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written within, or nothing of it when it raises."""
        with self._lock:
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._sql.execute("ROLLBACK")
                raise
            self._sql.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._sql.close()

    def kind(self, kind: Kind | str) -> Kind:
        """A kind, also by its name."""
        return self.kinds.by_name[kind] if isinstance(kind, str) else kind

    def find(self, kind: Kind | str, id: Any) -> Record | None:
        """The record with a name in the store, or None."""
        wanted = (self.kind(kind).name, str(id))
        row = self._sql.execute("SELECT fields FROM records WHERE kind = ? AND id = ?", wanted).fetchone()
        return json.loads(row[0]) if row else None

    def rows(self, kind: Kind | str, **equal: Any) -> list[Record]:
        """The records of a kind with some fields, oldest first."""
        wanted = (self.kind(kind).name,)
        rows = self._sql.execute("SELECT fields FROM records WHERE kind = ? ORDER BY number", wanted)
        found = [json.loads(row[0]) for row in rows]
        return [row for row in found if all(row.get(name) == value for name, value in equal.items())]

    def get(self, kind: Kind | str, id: Any, parent: Any = None) -> Record:
        """A record.

        :param parent: the record that it must be a part of.
        :raises Refusal: 404 when there is none.
        """
        kind = self.kind(kind)
        found = self.find(kind, kind.id(id, parent))
        if found is None or (parent is not None and kind.parent in found and found[kind.parent] != parent):
            raise no_record(kind.key, id)
        return found

    def create(self, kind: Kind | str, given: Mapping[str, Any], sent: Iterable[str] = ()) -> Record:
        """Make a record and store it.

        :param given: fields that are known.
        :param sent: fields that the caller may give: these are not made up.
        """
        kind, known = self.kind(kind), {name: value for name, value in given.items() if value is not None}
        missing = [name for name in kind.properties if name not in known and name not in sent]
        values: Record = {name: kind.first[name] for name in missing if name in kind.required & kind.first.keys()}
        for name in missing:
            schema = kind.properties[name]
            if "enum" in schema and (name in kind.required or name == "status"):
                values[name] = schema["enum"][0]
            elif (agreed := self._agreed(kind, name, known)) is not None:
                values[name] = agreed
        new = {name: self._filled(kind, value, known) for name, value in kind.new.items()}
        values |= {name: value for name, value in new.items() if value is not None or kind.new[name] is None}
        values |= known
        number = self._next_number(kind.name)
        values[kind.key] = known.get(kind.key) or self._unused(kind, number, values)
        self._store(kind, values, number)
        return values

    def _agreed(self, kind: Kind, name: str, known: Mapping[str, Any]) -> Any:
        """What the records that a new one refers to say of a further reference."""
        if name == kind.key or self.kinds.of_field(name, kind.system) is None:
            return None
        for reference, id in known.items():
            target = self.kinds.of_key(reference, kind.system)
            found = self.find(target, id) if target is not None and reference != kind.key else None
            if found is not None and found.get(name) is not None:
                return found[name]
        return None

    def _filled(self, kind: Kind, value: Any, known: Mapping[str, Any]) -> Any:
        """A value of the facts with what it names in braces: today, a field, a field of the record that a field refers to."""
        if not isinstance(value, str):
            return value

        def named(match: re.Match[str]) -> Any:
            if match[1] == "today" or not match[2]:
                return facts()["today"].isoformat() if match[1] == "today" else known.get(match[1], "")
            target = self.kinds.of_field(match[1], kind.system)
            return (self.find(target, known.get(match[1])) or {}).get(match[2]) if target else None

        whole = _NAMED.fullmatch(value)
        return named(whole) if whole else _NAMED.sub(lambda match: str(named(match)), value)

    def _unused(self, kind: Kind, number: int, values: Mapping[str, Any]) -> Any:
        """The identifier of a new record: counted on from the first one's."""
        parent = str(values.get(kind.parent, ""))
        place = len(self.rows(kind, **{kind.parent: parent})) if kind.parent else 0
        while True:
            key = self._identifier(kind, number, parent, place)
            if self.find(kind, kind.id(key, parent)) is None:
                return key
            number, place = number + 1, place + 1

    def _identifier(self, kind: Kind, number: int, parent: str, place: int) -> str | int:
        if kind.is_numbered:
            return 10 * (place + 1)
        first, stated = str(kind.first.get(kind.key, "")), facts()["kinds"].get(kind.name, {}).get("example", "")
        if parent and first.startswith(f"{kind.first.get(kind.parent)}-"):
            return f"{parent}-{place + 1:02d}"
        if match := _DIGITS.search(first or stated):
            return f"{match.string[: match.start()]}{int(match[0]) + number:0{len(match[0])}d}{match.string[match.end() :]}"
        letters = "".join(re.findall(r"^[a-z]|[A-Z]", kind.key.removesuffix("Id") or kind.name)).upper()
        return f"{letters}-{1001 + number}"

    def _next_number(self, kind: str) -> int:
        """A number, from 0 on, that no record of the kind ever had."""
        statement = "INSERT INTO numbers VALUES (?, 0) ON CONFLICT (kind) DO UPDATE SET last = last + 1 RETURNING last"
        return int(self._sql.execute(statement, (kind,)).fetchone()[0])

    def _id(self, kind: Kind, record: Record) -> str:
        return kind.id(record[kind.key], record.get(kind.parent))

    def _store(self, kind: Kind, record: Record, number: int) -> None:
        values = (kind.name, self._id(kind, record), number, json.dumps(record, ensure_ascii=False))
        self._sql.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", values)

    def change(self, kind: Kind | str, record: Record, **fields: Any) -> None:
        """Store a record that is there, with some fields changed."""
        kind, text = self.kind(kind), json.dumps({**record, **fields}, ensure_ascii=False)
        values = (text, kind.name, self._id(kind, record))
        self._sql.execute("UPDATE records SET fields = ? WHERE kind = ? AND id = ?", values)

    def remove(self, kind: Kind, record: Record) -> None:
        """Remove a record."""
        self._sql.execute("DELETE FROM records WHERE kind = ? AND id = ?", (kind.name, self._id(kind, record)))

    def check_references(self, value: Any, system: str, where: str, own: str = "") -> None:
        """Check that the records are there that a value refers to, at any depth.

        :param own: key of the record itself.
        :raises Refusal: 400 when one is not.
        """
        for name, inner in value.items() if isinstance(value, Mapping) else ():
            kind = self.kinds.of_field(name, system)
            for item in inner if isinstance(inner, list) else [inner]:
                self.check_references(item, system, f"{where}.{name}")
                refers = kind and name != own and not kind.is_numbered and isinstance(item, str)
                if kind and refers and self.find(kind, item) is None:
                    raise wrong(f"{where}.{name}", f"there is no {kind.key} {item[:80]!r}")
