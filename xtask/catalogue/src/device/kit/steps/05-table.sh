# A kernel of two milliseconds with and without synchronisation, and through criterion's bridge.
# limit: 60 s
exec "$BIN/gpu_table"
