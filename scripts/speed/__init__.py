"""Speed and size: builds catalogues of growing size, measures them in process and over gRPC, and renders what was found.

:mod:`scripts.bench` (``make bench``) puts these parts together; :mod:`scripts.bench_datagen` uses :mod:`~scripts.speed.builds`.
"""
