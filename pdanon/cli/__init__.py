"""The command line."""

__all__ = ["checks", "main", "options", "output", "parser", "signals"]
