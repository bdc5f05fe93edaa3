"""The estimators on features, and what all estimators share."""
