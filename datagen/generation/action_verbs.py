"""The verbs that say what a tool does, their kinds, and everyday phrases for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from datagen.generation.data_files import read_data
from ontology.names import verb_lemma

__all__ = ["READS", "ActionVerbs", "action_verbs"]

READS = frozenset(("get", "list", "search", "check"))
"""The kinds of actions that change nothing."""


@dataclass(frozen=True, kw_only=True)
class ActionVerbs:
    """The verbs of documents.

    :param kinds: verb → ``get``, ``list``, ``search``, ``check``, ``create``, ``update``, ``set`` or ``delete``; or, of
        another verb, the verb that stands for it.
    :param phrases: kind or verb → phrases, ``~`` for the object.
    :param pairs: verb → the preposition before the second thing that it takes (``to``).
    :param weak: verbs of names beside which a document may name any action that changes something.
    :param alike: pairs of kinds that documents use for each other: a name says create where the text says record.
    :param methods: method of HTTP → kind.
    """

    kinds: Mapping[str, str]
    phrases: Mapping[str, tuple[str, ...]]
    pairs: Mapping[str, str]
    weak: frozenset[str]
    alike: frozenset[frozenset[str]]
    methods: Mapping[str, str]

    def base(self, word: str) -> str:
        """The base form of a lower-case verb; empty for another word."""
        if word in self.kinds:
            return word
        base = verb_lemma(word)
        return base if base in self.kinds else ""

    def differ(self, verb: str, other: str) -> bool:
        """Whether two verbs say different actions."""
        one, two = self.kinds[verb], self.kinds.get(self.base(other), "")
        return one != two and not (one in READS and two in READS) and {one, two} != {"update", "set"}

    def agree(self, said: str, named: str) -> bool:
        """Whether the verb of a document and that of a name can mean the same action."""
        if not self.differ(said, named):
            return True
        reads, names = self.kinds[said] in READS, self.kinds[self.base(named)] in READS
        return (
            not reads
            and not names
            and (named in self.weak or {self.kinds[said], self.kinds[self.base(named)]} in self.alike)
        )


@cache
def action_verbs() -> ActionVerbs:
    """The shipped verbs."""
    data = read_data("actions")
    kinds = {verb: kind for kind, row in data["kinds"].items() for verb in row.split()}
    phrases = {kind: tuple(row) for kind, row in data["phrases"].items()}
    phrases |= {"add to": tuple(data["add_to"]), "remove from": tuple(data["remove_from"])}
    pairs: dict[str, str] = {}
    for act in data["acts"]:
        verbs = act["verbs"].split()
        for verb in verbs:
            if verb not in kinds:
                kinds[verb] = verbs[0]
                phrases.setdefault(verb, tuple(act["phrases"]))
                if "pair" in act:
                    pairs[verb] = act["pair"]
    return ActionVerbs(
        kinds=kinds,
        phrases=phrases,
        pairs=pairs,
        weak=frozenset(data["weak"]),
        alike=frozenset(frozenset((kind, other)) for kind, row in data["alike"].items() for other in row.split()),
        methods=data["methods"],
    )
