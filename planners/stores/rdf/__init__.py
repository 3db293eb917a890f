"""Graphs as RDF, asked in SPARQL: Oxigraph in a process, or an endpoint."""
