"""Small faults that tests must find, and the command that tries them: ``python -m tests.mutants``."""
