"""The command `egotools`: a file for what a person does, and what they print with."""
