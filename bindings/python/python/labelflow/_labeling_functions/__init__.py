"""Labeling functions, and the table that describes their votes."""
