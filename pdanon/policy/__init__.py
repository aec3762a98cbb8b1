"""Policies: releases as TOML files that specify the input, the roles of columns and the outputs."""

from pdanon.policy.policy import Policy

__all__ = ["Policy"]
