"""One catalogue divided by namespace over several nodes: equal answers, and their cost. A study; the service does not do it."""
