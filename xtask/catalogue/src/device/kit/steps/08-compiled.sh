# The same by `torch.compile`.
# limit: 90 s
exec "$PYTHON" "$KIT/vit5.py" compiled
