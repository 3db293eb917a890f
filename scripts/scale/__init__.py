"""What a larger catalogue and more requests would take, concluded from what was measured on one machine."""
