"""The request and its context: vector, index terms, n-grams and clauses, each computed once; deadline, timings, fallbacks."""
