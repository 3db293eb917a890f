"""Fitting the calibrated confidence that ships, and measuring how well it abstains."""
