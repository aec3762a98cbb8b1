"""What asv times in each commit. CONTRIBUTING.md has the commands."""
