"""What of SPARQL a model may write."""

from __future__ import annotations

import pytest

from ontology.errors import StatementError
from planners.stores.statements import allowed_sparql

_REFUSED_QUERIES = {
    "service": "SELECT * WHERE { SERVICE <http://127.0.0.1:1/sparql> { ?s ?p ?o } }",
    "another graph": "SELECT * WHERE { GRAPH ?g { ?s ?p ?o } }",
    "a file": "SELECT * FROM <file:///etc/passwd> WHERE { ?s ?p ?o }",
    "construct": "CONSTRUCT WHERE { ?s ?p ?o }",
    "an update": "INSERT DATA { :a a :B }",
    "a load": "LOAD <file:///etc/passwd>",
    "a drop": "DROP DEFAULT",
    "nothing": "",
    "an update after a query": "SELECT * WHERE { ?s ?p ?o } ; DROP ALL",
    "base": "BASE <file:///etc/> SELECT * WHERE { <passwd> ?p ?o }",
    "a function of the engine": "SELECT (<http://example.org/read>('x') AS ?y) WHERE { }",
    "chance": "SELECT (RAND() AS ?x) WHERE { }",
    "a hidden quote": r"SELECT ('\u0027) AS ?x) WHERE { SERVICE <http://a> { ?s ?p ?o } } # \u0027 AS ?x) WHERE { }",
    "a triple in a triple": "SELECT * WHERE { << ?s ?p ?o >> ?q ?r }",
    "an open string": "SELECT * WHERE { ?s ?p 'x }",
    "many brackets": "SELECT * WHERE " + "{" * 200 + "}" * 200,
    "an operator and a string that look like an IRI": "SELECT * { FILTER(1<'>'||true) SERVICE <http://a/> { ?s ?p 1 } FILTER(' ,<'>1) }",
    "an operator and a function that look like an IRI": "SELECT * { ?a ?p ?o FILTER(?a<rand()&&1>0) }",
    "an operator and a comment that look like an IRI": "SELECT * { ?a ?p ?o FILTER(?a<p:b#>\n) SERVICE <http://a/> { } #\n) }",
    "an IRI after a value in a list": "SELECT * { ?a ?p (1 <urn:x>) }",
    "an IRI without a scheme": "SELECT * { ?a <name> ?o }",
    "an IRI with a quote": "SELECT * { ?a <urn:it's> ?o }",
    "a word before a prefix": "PREFIX p: <http://a/> SELECT * { SERVICEp:x { ?s ?p ?o } }",
    "a prefix that is not declared": "SELECT * { ?s ex:name ?o }",
    "a long string that is open": "SELECT * { ?s ?p '''x' }",
    "an escape that SPARQL does not have": r"SELECT * { ?s ?p '\d' }",
    "an escaped half of a character": r"SELECT * { ?s ?p '\ud800' }",
    "half a character": "SELECT * WHERE { ?s ?p '\ud800' }",
}


@pytest.mark.parametrize("text", _REFUSED_QUERIES.values(), ids=_REFUSED_QUERIES)
def test_refused_queries(text: str) -> None:
    with pytest.raises(StatementError, match="SPARQL"):
        allowed_sparql(text)


def test_what_is_sent_has_names_in_full_and_no_comments() -> None:
    text = "PREFIX p: <http://a/>\nSELECT ?x # all\n{ ?x a :Big-Book ; p:q -1 . FILTER(CONCAT ('a','b')='ab'&&xsd:int('1')<2) }"
    named = "<http://www.w3.org/2001/XMLSchema#int>"
    assert allowed_sparql(text) == (
        "SELECT ?x { ?x a <urn:egotools:name:Big-Book> ; <http://a/q> -1 . "
        f"FILTER ( CONCAT( 'a' , 'b' ) = 'ab' && {named} ( '1' ) < 2 ) }}"
    )
