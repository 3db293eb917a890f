"""Words to a typed query graph over a domain: the graph and its faults, the domain, dates, and the readers by rules and by a model."""
