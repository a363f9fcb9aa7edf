"""The worker: runs a Python framework's loader for the harness, and takes its times beside the work.

`docs/worker-protocol.md` is the conversation, `scenarios/docs/transforms.md` the work. From the outside in:
`__main__` takes the descriptors, `serve` holds the conversation, `loop` is the timed loop (`spots` is what it copies,
`ledger` where its time goes), and `adapters/` has one small file per framework.
"""

PROTOCOL = 3
