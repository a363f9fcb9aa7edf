# TRAIN-1 by PyTorch and by JAX.
# limit: 90 s
exec "$BIN/training" --bench --platform gpu --no-lock --data "$OUT/data" --data-cache "$WORK/data-cache" --quick \
    --budget 75 --adapter PyTorch --adapter "JAX (Flax NNX)" --set all TRAIN-1
