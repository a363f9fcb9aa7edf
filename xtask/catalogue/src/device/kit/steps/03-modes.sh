# A kernel of two milliseconds and one of four million cycles, in each mode; calibrations and NVML are in the records.
# limit: 120 s
code=0
for mode in sync event cold hot; do
    echo "mode $mode"
    "$BIN/gpu-suite" --bench --platform gpu --no-lock --set all --data "$OUT/data" \
        --repeats 1 --min-time 1 --mode "$mode" SPIN-1 CYCLES-1 || code=$?
done
exit $code
