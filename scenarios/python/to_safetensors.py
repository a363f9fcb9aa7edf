"""Makes a file of safetensors of a checkpoint of Orbax, so that it can be a state: `path:FILE`.

Run it with the Python of the environment `orbax`; `cargo catalogue peers install orbax` makes that:

    ~/.local/share/weighbridge/peers/orbax/venv/bin/python scenarios/python/to_safetensors.py CHECKPOINT FILE

A tensor is called as its place in the tree, with dots between: `decoder.0.scale`. Files of cuts call it so too. A
single number is a tensor without sizes. What is no number is left out, and told.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

TYPES = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "uint8": "U8", "int8": "I8"}
TYPES |= {"uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32", "uint64": "U64", "int64": "I64"}
TYPES |= {"bool": "BOOL"}


def of_leaf(said: Any) -> ocp.RestoreArgs:
    """How a leaf is restored of which a checkpoint says this."""
    return ocp.RestoreArgs(restore_type=np.ndarray if isinstance(said, ocp.metadata.ArrayMetadata) else None)


def arrays(checkpoint: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a checkpoint by their places, whole and in the memory of this process."""
    jax.config.update("jax_enable_x64", True)
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
        tree = checkpointer.metadata(checkpoint).item_metadata.tree
        args = jax.tree.map(of_leaf, tree)
        restored = checkpointer.restore(checkpoint, args=ocp.args.PyTreeRestore(restore_args=args))
    found = {}
    for place, leaf in jax.tree_util.tree_flatten_with_path(restored)[0]:
        name = jax.tree_util.keystr(place, simple=True, separator=".")
        if isinstance(leaf, np.ndarray) and leaf.dtype.name in TYPES:
            found[name] = leaf
        else:
            print(f"left out: {name}, {type(leaf).__name__}", file=sys.stderr)
    return found


def write(tensors: dict[str, np.ndarray[Any, Any]], file: Path) -> None:
    """Writes a file of safetensors: the length of a header, the header, the bytes.

    The package `safetensors` is not in that environment.
    """
    header, end = {}, 0
    for name, array in tensors.items():
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": TYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # numbers begin at a multiple of eight
    part = file.with_name(f".{file.name}.part")
    with part.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            out.write(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data if array.ndim else array.tobytes())
    part.rename(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, help="a directory that Orbax has saved")
    parser.add_argument("file", type=Path, help="a file that is not there yet")
    given = parser.parse_args()
    if given.file.exists():
        parser.error(f"{given.file} is there already")
    tensors = arrays(given.checkpoint.absolute())
    if not tensors:
        parser.error(f"{given.checkpoint} has no array")
    write(tensors, given.file)
    print(f"{given.file}: {len(tensors)} tensors, {sum(array.nbytes for array in tensors.values()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
