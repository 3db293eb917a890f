"""Usage lines at build time: when to use a tool, what it cannot do, and everyday requests, by rules or by a language model."""
