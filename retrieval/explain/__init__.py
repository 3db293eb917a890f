"""Why a tool was returned: one line for a person, and the evidence behind it (entry nodes, edges, features, parameter bindings)."""
