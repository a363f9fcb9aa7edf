"""One file per framework: its own calls, and nothing else. Each ends with `ADAPTER`."""
