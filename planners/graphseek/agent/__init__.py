"""A question's run: synthesis, execution, generation, decision."""
