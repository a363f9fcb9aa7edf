# CKPT-1 by PyTorch and by safetensors, of a state in the device's memory.
# limit: 60 s
exec "$BIN/checkpoints" --bench --platform gpu --no-lock --data "$OUT/data" --data-cache "$WORK/data-cache" --quick \
    --repeats 1 --budget 45 --adapter torch.save --adapter "safetensors (Python)" --set all CKPT-1
