"""Its utilities."""
