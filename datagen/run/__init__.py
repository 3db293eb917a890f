"""A run of data generation: the wanted requests of each class, the generation loop, and the journal."""
