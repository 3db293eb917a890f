"""Tool documents in, a tool graph out: read (`sources`), say (`extract`), make canonical (`canonical`), link (`linking`), store (`stores`)."""
