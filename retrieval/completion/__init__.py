"""Completing a ranking: the resolvers of the best tools, and the tools that these depend on."""
