"""Evidence of a release: its facts as JSON and as a page, and their replay from the files of the release."""

__all__: list[str] = []
