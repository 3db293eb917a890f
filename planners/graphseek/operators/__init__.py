"""The typed operators that a plan is made of, one a file."""
