"""Parts of the executor of query graphs: the order of traversal, metered calls, candidate sets, and the pass that leaves the truth in them."""
