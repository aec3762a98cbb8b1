"""The command line."""

__all__ = ["checks", "demo", "main", "options", "output", "parser", "signals"]
