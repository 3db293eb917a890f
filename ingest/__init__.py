"""Tool documents in, a tool graph out: reading (`sources`), extraction (`extract`), canonical names (`canonical`), edges between tools
(`linking`), graph databases (`stores`)."""
