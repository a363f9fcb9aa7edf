# The same kernel by this harness, by `torch.cuda.Event` and by Triton's `do_bench`, in turns.
# limit: 90 s
exec "$PYTHON" "$KIT/beside.py"
