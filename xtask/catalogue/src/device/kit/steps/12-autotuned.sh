# ViT-5 Small by `torch.compile` with every variant of its kernels tried. The longest step, and so the last.
# limit: 120 s
exec "$PYTHON" "$KIT/vit5.py" autotuned
