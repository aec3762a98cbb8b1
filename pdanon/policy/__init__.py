"""Policies: a release as a TOML file, which says what is read, published and written."""

from pdanon.policy.policy import Policy

__all__ = ["Policy"]
