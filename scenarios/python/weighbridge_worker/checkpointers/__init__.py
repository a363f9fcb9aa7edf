"""The checkpointers, one file each, called as the peers are for short."""
