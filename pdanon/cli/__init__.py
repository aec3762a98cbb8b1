"""The command line, and policies: a release as a file that is approved and run again."""

__all__ = ["main", "options", "policy", "roles", "starting", "toml", "usage"]
