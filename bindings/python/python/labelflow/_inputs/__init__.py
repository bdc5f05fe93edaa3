"""What users pass: features, signals, bounds, rules, real values and settings, checked and converted."""
