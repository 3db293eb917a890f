"""Catalogues of real documents that nothing was written or tuned on: they measure generated requests on unseen catalogues.

``python -m research.fresh_catalogues NAME OUT`` fetches one.
"""
