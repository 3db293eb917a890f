"""The steps of a run by chat models: prompts, structured answers, repaired JSON."""
