# INF-1 by PyTorch, by JAX.
# limit: 60 s
exec "$BIN/inference" --bench --platform gpu --no-lock --data "$OUT/data" --data-cache "$WORK/data-cache" --quick \
    --repeats 1 --budget 45 --adapter "PyTorch (inference)" --adapter JAX --set all INF-1
