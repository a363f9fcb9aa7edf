"""The trainers, one file each, called as the peers are for short."""
