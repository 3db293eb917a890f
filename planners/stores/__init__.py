"""Property graphs: one seam over memory, RDF and Bolt to write and query, one over Ladybug and Bolt that only reads."""
