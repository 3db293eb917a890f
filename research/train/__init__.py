"""Training of the shipped models: the data, the training, the export and the measuring; see ``research/README.md``.

:mod:`~research.train.training_data` makes labelled requests with hard negatives from real catalogues;
:mod:`~research.train.train_encoder` trains on them. Nothing at run time needs this.
"""
