"""Questions in plain words over a property graph: a plan of typed operators, run on the whole graph, of which a model sees summaries (after the paper "GraphSeek")."""
