"""What makes the figures of a page, and of the tests themselves: run from a checkout, never installed."""
