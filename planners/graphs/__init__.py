"""Property graphs that planners write and query: one seam over Ladybug, Bolt, RDF and memory; statements pass an allow-list."""
