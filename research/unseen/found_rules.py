"""What was found on which catalogue: every rule, word list and constant that says so, and how to build and rank without it.

A rule counts as found on a catalogue where one of the catalogue's own documents, or of the true dependencies between them, was
read to find it; or where requests to it were measured.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from research.unseen.switches import Switch, constant, nothing, off
from scripts.bench_sets import ROOT

__all__ = ["ELSEWHERE", "ENCODER_SAW", "FOUND_RULES", "NOT_SWITCHED", "FoundRule", "catalogue_of", "switches_off"]

ELSEWHERE = "elsewhere"
"""Documents of no catalogue that is measured: Compute Engine, EC2, Microsoft Graph, GitHub …"""

ENCODER_SAW = {"egotools-minilm-int8.v1": ("metatool", "sealtools", "real")}
"""Encoder → the catalogues that it was trained on: of MetaTool and Seal-Tools other requests to the same tools; of the real
documents those of AWS and Google, whose documentation it read. They are measured with the plain encoder.
"""

NOT_SWITCHED = (
    "the other word lists, written with the nine sets in view (`ingest/*/*_words.yaml`, `ontology/names.py`)",
    "which features there are, and that a clause is matched by three of them with half the weight for names",
    "the sizes of the pools (100, and 25 a clause), and the weight of an n-gram in the graph support",
    "how many of the best tools are completed, and what the steps of a plan cost",
    "which kinds of values are replaced by their nouns, how much their own words and everyday phrases count, that abbreviations do not",
    "that suppliers of plain values are not followed (sealtools, taskbench), that names and titles count as stated, and that a proper name opens "
    "what a resolver looks up (17 sets)",
)
"""What was chosen with sets in view and stays on: it has no neutral value. The table of the page cannot measure it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRule:
    """A rule, a word list or a constant.

    :param what: what it concludes.
    :param where: the file that says what it was found on.
    :param found_on: the catalogues; :data:`ELSEWHERE` for documents of none that is measured.
    :param switches: how it is switched off; none where it changes no ranking, or where no measured catalogue is among them.
    """

    what: str
    where: str
    found_on: tuple[str, ...]
    switches: tuple[Switch, ...] = ()


def catalogue_of(name: str) -> str:
    """Return the catalogue of a set: two halves of one benchmark are requests to the same one."""
    for catalogue in ("enterprise", "real"):
        if name == catalogue or name.startswith(f"{catalogue}-"):
            return catalogue
    return name


def switches_off(name: str, *, during: str) -> list[Switch]:
    """Return the switches of all rules that were found on the catalogue of a set.

    :param during: ``ingest`` for those of a build, ``retrieval`` for those of a request.
    """
    rules = [rule for rule in FOUND_RULES if catalogue_of(name) in rule.found_on]
    return [one for rule in rules for one in rule.switches if one.target.startswith(f"{during}.")]


def _calibrated_without(*documents: str) -> Any:
    """The calibration of edges, fitted again without the edges that were judged in these documents."""

    @cache
    def points() -> dict[str, list[tuple[float, float]]]:
        # It imports numeric libraries, which must come after the thread variables.
        from research.edge_truth import fit_bins

        path = ROOT / "research" / "edge_verdicts" / "calibration.jsonl"
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        rows = [row for row in rows if row["document"] not in documents and isinstance(row.get("true"), bool)]
        by_predicate = {
            name: fit_bins([row for row in rows if row["predicate"] == name])
            for name in sorted({row["predicate"] for row in rows})
        }
        return {name: [(score, share) for score, share in bins] for name, bins in by_predicate.items()}

    return constant(points)


class _OneVendor:
    """In place of ``Vendors``: every document is of one company."""

    def __init__(self, tools: object) -> None: ...

    def of(self, tool: object) -> str:
        """Return no vendor."""
        return ""


def _all_creating(_: Any) -> Any:
    from ingest.word_lists import word_groups

    return word_groups("linking", "actions")["create"]


_LINKING = "ingest.linking"
_COMPANY = "events facilities finance hr itsm legal manufacturing procurement projects purchasing".split()
_NO_WORDS = constant(frozenset())

FOUND_RULES: tuple[FoundRule, ...] = (
    FoundRule(
        what="a tool that needs a session depends on the one that opens it",
        where="ingest/linking/derive.py",
        found_on=("apibank",),
        switches=(Switch(f"{_LINKING}.derive:derive_auth_edges", nothing),),
    ),
    FoundRule(
        what="tools that turn words into an identifier",
        where="ingest/linking/rp_edges.py",
        found_on=("restbench",),
        switches=(Switch(f"{_LINKING}.derive:derive_resolver_edges", nothing),),
    ),
    FoundRule(
        what="tools that take no words turn none into an identifier",
        where="ingest/linking/rp_edges.py",
        found_on=("gtc",),
        switches=(Switch(f"{_LINKING}.rp_edges:_MIN_STRENGTH", constant(0.0)),),
    ),
    FoundRule(
        what="the nearest supplier of a value",
        where="ingest/linking/output_index.py",
        found_on=("toollinkos",),
    ),
    FoundRule(
        what="which producers cannot supply a value: they need it, or would copy it from a sibling",
        where="ingest/linking/output_index.py",
        found_on=("real", ELSEWHERE),
        switches=(
            Switch(f"{_LINKING}.output_index:needs_value", off(False)),
            Switch(f"{_LINKING}.output_index:is_own_new_value", off(False)),
            Switch(f"{_LINKING}.output_index:is_sibling_reference", off(False)),
        ),
    ),
    FoundRule(
        what="the one system that lists an entity",
        where="ingest/linking/output_index.py",
        found_on=("enterprise",),
        switches=(Switch(f"{_LINKING}.output_index:_is_home", off(False)),),
    ),
    FoundRule(
        what="vendors: edges join the documents of one vendor only, and of single words those of one service",
        where="ingest/linking/profiles.py",
        found_on=("enterprise", "real", ELSEWHERE),
        switches=(Switch(f"{_LINKING}.profiles:Vendors", constant(_OneVendor)),),
    ),
    FoundRule(
        what="an entity of one word is another one in each service of a vendor (off with the vendors)",
        where="ingest/linking/output_index.py",
        found_on=("real", ELSEWHERE),
    ),
    FoundRule(
        what="kinds of values must agree",
        where="ingest/linking/tool_values.py",
        found_on=("enterprise", "real", ELSEWHERE),
        switches=(Switch(f"{_LINKING}.output_index:kind_fit", off(1.0)),),
    ),
    FoundRule(
        what="kinds of values: their words and formats (off with the rule)",
        where="ingest/linking/value_kinds.yaml",
        found_on=("enterprise", "real", ELSEWHERE),
    ),
    FoundRule(
        what="context parameters, which no tool supplies",
        where="ingest/linking/tool_inputs.py",
        found_on=("real", ELSEWHERE),
        switches=(Switch(f"{_LINKING}.tool_inputs:_is_context", off(False)),),
    ),
    FoundRule(
        what="word lists of the links: words of context parameters (off with the rule)",
        where="ingest/linking/linking_words.yaml",
        found_on=("real", ELSEWHERE),
    ),
    FoundRule(
        what="word lists of the links: verbs that always make something new",
        where="ingest/linking/linking_words.yaml",
        found_on=("enterprise",),
        switches=(Switch(f"{_LINKING}.output_index:_CREATING", _all_creating),),
    ),
    FoundRule(
        what="word lists of the links: people; an address of a person in a role",
        where="ingest/linking/linking_words.yaml",
        found_on=("enterprise", ELSEWHERE),
        switches=(
            Switch(f"{_LINKING}.tool_inputs:PEOPLE", _NO_WORDS),
            Switch(f"{_LINKING}.tool_outputs:PEOPLE", _NO_WORDS),
            Switch(f"{_LINKING}.rp_edges:PEOPLE", _NO_WORDS),
            Switch(f"{_LINKING}.tool_inputs:_person_key", off(None)),
        ),
    ),
    FoundRule(
        what="word lists of the links: the caller's own record",
        where="ingest/linking/linking_words.yaml",
        found_on=("enterprise", ELSEWHERE),
        switches=(Switch(f"{_LINKING}.profiles:_SELF", _NO_WORDS),),
    ),
    FoundRule(
        what="word lists of the links: inputs that name an entity by another field than an id",
        where="ingest/linking/linking_words.yaml",
        found_on=("real", ELSEWHERE),
        switches=(
            Switch(f"{_LINKING}.tool_inputs:_NAMING_FIELDS", _NO_WORDS),
            Switch(f"{_LINKING}.tool_outputs:_NAMING_FIELDS", _NO_WORDS),
        ),
    ),
    FoundRule(
        what="word lists of the links: values that the caller chooses",
        where="ingest/linking/linking_words.yaml",
        found_on=("real", ELSEWHERE),
        switches=(Switch(f"{_LINKING}.tool_inputs:_NEW", constant(re.compile(r"(?!)"))),),
    ),
    FoundRule(
        what="word lists of the links: an operation that is still running",
        where="ingest/linking/linking_words.yaml",
        found_on=(ELSEWHERE,),
    ),
    FoundRule(
        what="an input with the name of an entity takes its identifier",
        where="ingest/linking/tool_inputs.py",
        found_on=("real",),
        switches=(Switch(f"{_LINKING}.tool_inputs:_is_entity", off(False)),),
    ),
    FoundRule(
        what="the key of an object without an id; which objects are parts of others",
        where="ingest/linking/tool_outputs.py",
        found_on=("real", ELSEWHERE),
        switches=(
            Switch(f"{_LINKING}.tool_outputs:primary_values", nothing),
            Switch(f"{_LINKING}.tool_outputs:is_embedded", off(False)),
        ),
    ),
    FoundRule(
        what="names of resources that are paths",
        where="ingest/linking/identifiers.py",
        found_on=("real", ELSEWHERE),
        switches=(Switch(f"{_LINKING}.identifiers:named_collection", off("")),),
    ),
    FoundRule(
        what="the collection of an item in a path",
        where="ingest/linking/tool_inputs.py",
        found_on=(ELSEWHERE,),
    ),
    FoundRule(
        what="a plain value that picks something out",
        where="ingest/linking/rp_edges.py",
        found_on=(ELSEWHERE,),
    ),
    FoundRule(
        what="the last word of a path is what is done",
        where="ingest/linking/tool_subjects.py",
        found_on=("enterprise", ELSEWHERE),
        switches=(Switch(f"{_LINKING}.tool_subjects:_is_action", off(False)),),
    ),
    FoundRule(
        what="a get of many is a list",
        where="ingest/linking/tool_subjects.py",
        found_on=("enterprise", "real"),
        switches=(Switch(f"{_LINKING}.tool_subjects:_many", constant(lambda action, _objects: action)),),
    ),
    FoundRule(
        what="preconditions that a description states",
        where="ingest/linking/preconditions.yaml",
        found_on=("enterprise", ELSEWHERE),
        switches=(Switch(f"{_LINKING}.derive:derive_stated_preconditions", nothing),),
    ),
    FoundRule(
        what="confidence of an edge: fitted again without 10 judged edges",
        where="ingest/linking/confidence.yaml",
        found_on=("enterprise",),
        switches=(Switch(f"{_LINKING}.rp_edges:_points", _calibrated_without(*_COMPANY)),),
    ),
    FoundRule(
        what="confidence of an edge: fitted again without the 7 judged edges of Airflow",
        where="ingest/linking/confidence.yaml",
        found_on=("real",),
        switches=(Switch(f"{_LINKING}.rp_edges:_points", _calibrated_without("v1")),),
    ),
    FoundRule(
        what="attributes: popularity, homepage, backdrop, average, overview",
        where="ingest/extract/extract_words.yaml",
        found_on=("restbench",),
        switches=(
            Switch(
                "ingest.extract.structure:_ATTRIBUTES",
                lambda words: words - {"popularity", "homepage", "backdrop", "average", "overview"},
            ),
        ),
    ),
    FoundRule(
        what="short names of systems",
        where="ingest/canonical/system_aliases.py",
        found_on=("real", ELSEWHERE),
        switches=(Switch("ingest.pipeline:system_aliases", off({})),),
    ),
    FoundRule(
        what="inputs that are credentials",
        where="ingest/sources/openapi/http_request.py",
        found_on=("real",),
        switches=(Switch("ingest.sources.openapi.http_request:_CREDENTIALS", constant({})),),
    ),
    FoundRule(
        what="system coherence (its weight is chosen without the set; its constants stay)",
        where="retrieval/ranking/features.py",
        found_on=("enterprise", "real"),
    ),
    FoundRule(
        what="everyday phrases: verbs that are left out (which phrases count stays)",
        where="retrieval/query/everyday_verbs.yaml",
        found_on=("workbench",),
    ),
    FoundRule(
        what="boosts after executed tools (they act only where a caller gives `done`)",
        where="retrieval/response.py",
        found_on=("enterprise", "real"),
    ),
    FoundRule(
        what="what the letters of an identifier abbreviate",
        where="retrieval/index/lookup.py",
        found_on=("enterprise",),
        switches=(Switch("retrieval.query.context:letters_before_digits", off("")),),
    ),
    FoundRule(
        what="the first person is resolved by the tool that says who calls",
        where="retrieval/completion/complete.py",
        found_on=("enterprise",),
        switches=(Switch("retrieval.completion.complete:speaks_of_self", off(False)),),
    ),
    FoundRule(
        what="words before a value that make it an identifier",
        where="retrieval/completion/needs.py",
        found_on=("gtc", "sealtools"),
        switches=(Switch("retrieval.completion.needs:_MARKS", _NO_WORDS),),
    ),
    FoundRule(
        what="an input that identifies what its tool's name names is needed",
        where="retrieval/completion/needs.py",
        found_on=("workbench",),
        switches=(Switch("retrieval.completion.needs:_acts_on", off(False)),),
    ),
    FoundRule(
        what="what a step to a tool that must go first costs",
        where="retrieval/completion/plan.py",
        found_on=("toollinkos",),
    ),
    FoundRule(
        what="from how many allowed rows the vector index is searched (it changes no ranking but by what it misses)",
        where="retrieval/index/vectors.py",
        found_on=(ELSEWHERE,),
    ),
    FoundRule(
        what="near-duplicate tools (a line of the report; it changes no ranking)",
        where="ingest/duplicate_tools.py",
        found_on=("real",),
    ),
    FoundRule(
        what="which inputs send something, and what is a host (findings in documents, which change no ranking)",
        where="ingest/trust/trust_words.yaml",
        found_on=("real",),
    ),
    FoundRule(
        what="which example is of the service that its input names (findings in documents, which change no ranking)",
        where="ingest/trust/risky_values.py",
        found_on=("real",),
    ),
)
"""Every rule that says what it was found on."""
