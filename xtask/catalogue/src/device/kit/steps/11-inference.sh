# INF-1 by PyTorch, by JAX and by ONNX Runtime.
# limit: 60 s
exec "$KIT/bin/inference" --bench --platform gpu --no-lock --data "$OUT/data" --data-cache "$WORK/data-cache" --quick \
    --budget 45 --adapter "PyTorch (inference)" --adapter "JAX (inference)" --set all INF-1
