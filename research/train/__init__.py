"""Training the shipped models: what they are taught with (:mod:`research.train.data`) and how.

:mod:`~research.train.data` makes labelled requests with hard negatives out of real catalogues; :mod:`~research.train.train_encoder`
tunes the sentence encoder on them. Run by a developer; nothing at run time needs it, and torch stays in an environment of its own.
"""
