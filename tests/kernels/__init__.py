"""Kernels against naive versions: each one that counts, searches or merges, on small random arrays."""
