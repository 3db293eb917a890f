"""Results on disk under handles, and the summaries of them that a model sees."""
