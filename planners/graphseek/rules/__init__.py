"""Reading a question without a model: the catalog's vocabulary, and a plan of operators."""
