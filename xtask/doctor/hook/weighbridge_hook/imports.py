"""Patches modules right after they have been imported, wherever they are imported from: a folder or a zip."""

import importlib.abc
import sys

from . import state


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds what the other finders find, and has the loader call the patch at the end."""

    def __init__(self, patches):
        self.patches = patches
        self.searching = set()

    def find_spec(self, name, path=None, target=None):
        if name not in self.patches or name in self.searching:
            return None
        self.searching.add(name)
        try:
            spec = _found_by_others(self, name, path, target)
        finally:
            self.searching.discard(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        _wrap(spec.loader, self.patches.pop(name))
        return spec


def _found_by_others(own, name, path, target):
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if finder is own or find is None:
            continue
        spec = find(name, path, target)
        if spec is not None:
            return spec
    return None


def _wrap(loader, patch):
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        apply(patch, module)

    try:
        loader.exec_module = exec_module
    except AttributeError as error:  # a loader with slots
        state.trouble("to patch a module", error)


def apply(patch, module):
    """Patches a module. One that is not as it is known stays as it is."""
    try:
        patch(module)
    except Exception as error:
        state.trouble("to patch %s" % module.__name__, error)


def watch(patches):
    """Patches these modules once they are there."""
    waiting = {}
    for name, patch in patches.items():
        if name in sys.modules:
            apply(patch, sys.modules[name])
        else:
            waiting[name] = patch
    sys.meta_path.insert(0, _AfterImport(waiting))
