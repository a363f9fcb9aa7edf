# TRAIN-1 by PyTorch and by JAX, proven against the reference: operation by operation and compiled.
# limit: 120 s
exec "$BIN/training" --bench --platform gpu --no-lock --data "$OUT/data" --data-cache "$WORK/data-cache" --quick \
    --repeats 1 --budget 105 --param TRAIN-1.mode=eager,compiled \
    --adapter PyTorch --adapter "JAX (Flax NNX)" --set all TRAIN-1
