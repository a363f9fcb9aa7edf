# The loader on the device: its kernels are compiled here, its bits held against the reference's; and PyTorch's loader.
# limit: 90 s
exec "$BIN/suite" --bench --platform gpu --no-lock --data "$OUT/data" --data-cache "$WORK/data-cache" --quick \
    --budget 75 --param delivery=device --adapter "Reference (CUDA)" --adapter "PyTorch DataLoader" --set all CV-1 HPC-1
