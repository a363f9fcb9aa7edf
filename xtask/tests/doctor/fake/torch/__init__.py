"""A package of the shape of PyTorch, as far as the doctor's hook patches it: for tests on machines without PyTorch."""

import pickle


def save(value, file):
    """Writes a value."""
    with open(file, "wb") as to:
        pickle.dump(value, to)
