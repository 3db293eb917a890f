"""The command `egotools`: one file for each command or group of commands, and what they print with."""
