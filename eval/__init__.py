"""Measuring retrieval: labelled requests × systems → CompleteRecall reports, tables and plots, with intervals."""
