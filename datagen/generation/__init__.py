"""A small natural-language generator: what the user of a tool wants, in the words of every day.

:mod:`~datagen.generation.lexicon` holds the words (YAML files of this folder), :mod:`~datagen.generation.tool_frame` reads a tool as an
intention with arguments, :mod:`~datagen.generation.value_sampler` draws what is said for them, :mod:`~datagen.generation.realisation` makes clauses of an
intention, :mod:`~datagen.generation.style` says them as people do, and ``frames`` has one module for each class of request.
"""
