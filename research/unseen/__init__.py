"""What ``default`` is worth on a catalogue that nothing of it was found on: leave-one-catalogue-out of rules, weights and encoder.

``python -m research.unseen`` measures and writes docs/unseen.md. The table of what was found on which catalogue is
:mod:`research.unseen.found_rules`.
"""
