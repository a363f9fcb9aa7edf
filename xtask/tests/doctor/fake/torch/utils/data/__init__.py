"""Its data sets and loaders."""

from .dataloader import DataLoader  # noqa: F401


class Dataset:
    """Elements by their index."""
