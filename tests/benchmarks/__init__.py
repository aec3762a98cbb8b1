"""Benchmarks: ``python -m tests.benchmarks [name ...]`` prints each figure beside its reference."""
