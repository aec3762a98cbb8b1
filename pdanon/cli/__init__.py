"""The command line."""

__all__ = ["checks", "main", "output", "parser", "starting"]
