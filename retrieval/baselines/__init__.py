"""The systems to compare with: the paper's semantic, lexical and hybrid search, and flat rankings of the whole catalogue."""
