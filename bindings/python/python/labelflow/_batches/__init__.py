"""Streams of Arrow record batches: votes and features in parts, counts, predictions, and what Spark and Ray share."""
