"""Plans of calls, executed: each call in its order, with inputs out of earlier answers."""
