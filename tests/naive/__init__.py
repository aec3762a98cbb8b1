"""Naive versions of what the package does, by definition and without a thought for speed."""
