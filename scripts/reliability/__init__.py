"""The figures of docs/reliability.md: what was done to a server or a store, and what came of it."""
