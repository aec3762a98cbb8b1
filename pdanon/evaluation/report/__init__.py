"""HTML reports: a report of a release for others, and a confidential profile of a raw table."""

__all__: list[str] = []
