"""Warnings, errors and progress, as users see them."""
