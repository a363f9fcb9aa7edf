# A kernel of two milliseconds with and without synchronisation, and through criterion's bridge.
# limit: 60 s
exec "$KIT/bin/gpu_table"
