"""Measures of what a release loses and what it risks."""
