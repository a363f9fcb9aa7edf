# ViT-5 Small, batch 256, bf16, as it is written: original and optimised.
# limit: 60 s
exec "$PYTHON" "$KIT/vit5.py" eager
