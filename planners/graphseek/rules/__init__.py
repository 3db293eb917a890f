"""Reading a question without a model: the catalog's vocabulary, and a plan of operators that is gone through anew in each turn."""
