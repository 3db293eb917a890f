"""A small natural-language generator: what the user of a tool wants, in the words of every day.

:mod:`~datagen.language.lexicon` holds the words (YAML files of this folder), :mod:`~datagen.language.reading` reads a tool as an
intention with arguments, :mod:`~datagen.language.values` draws what is said for them, :mod:`~datagen.language.clauses` makes clauses of an
intention, :mod:`~datagen.language.tone` says them as people do, and ``frames`` has one module for each class of request.
"""
