"""The command line, and policies: a release as a file that people can read and approve, and run again."""

__all__ = ["checks", "demo", "main", "options", "output", "parser", "policy", "schema", "signals"]
