#!/bin/sh
# Measures what this folder holds on the device of this machine, and writes one folder of results.
#
#   ./run.sh                     all steps, into `results` beside this file
#   ./run.sh FOLDER STEP...      these steps alone, into that folder
#
# It needs a driver and a Python with frameworks, named by WEIGHBRIDGE_PYTHON [default: python3]; no cargo, no home, no
# network. Each step is a file of `steps`, with its limit in its second line; all together have 8 minutes
# (WEIGHBRIDGE_KIT_SECONDS). A step that fails ends nothing. What comes back is stored by the command `device unpack` of
# the machine that packed this.
set -u
KIT=$(cd "$(dirname "$0")" && pwd) || exit 1
OUT=${1:-$KIT/results}
[ $# -gt 0 ] && shift
chosen=" $* "
mkdir -p "$OUT" || exit 1
OUT=$(cd "$OUT" && pwd) || exit 1
PYTHON=$(command -v "${WEIGHBRIDGE_PYTHON:-python3}" || echo "${WEIGHBRIDGE_PYTHON:-python3}")
seconds=${WEIGHBRIDGE_KIT_SECONDS:-480}
begun=$(date +%s)
WORK=$(mktemp -d "${TMPDIR:-/tmp}/weighbridge-kit.XXXXXX") || exit 1
running=
# What is interrupted leaves neither a process nor its caches.
trap 'rm -rf "$WORK"' EXIT
trap '[ -n "$running" ] && kill "$running" 2>/dev/null; exit 130' INT TERM

# All caches of frameworks and compilers lie where they are removed.
mkdir -p "$WORK/home" "$WORK/data-cache" "$OUT/data"
BIN=$WORK/bin
mkdir "$BIN"
export KIT OUT WORK PYTHON BIN
export HOME="$WORK/home" XDG_CACHE_HOME="$WORK/home/.cache" XDG_DATA_HOME="$WORK/home/.local"
export TRITON_CACHE_DIR="$WORK/triton" TORCHINDUCTOR_CACHE_DIR="$WORK/inductor" CUDA_CACHE_PATH="$WORK/cuda"
export WEIGHBRIDGE_WORKER_PATH="$KIT/python" WEIGHBRIDGE_PYTHON="$PYTHON" PYTHONDONTWRITEBYTECODE=1
export HF_HUB_OFFLINE=1 XLA_PYTHON_CLIENT_PREALLOCATE=false

# The compiler of kernels comes with frameworks as often as with a toolkit.
libraries=$(timeout 30 "$PYTHON" -c 'import glob, sys
print(":".join(found for path in sys.path if path for found in sorted(glob.glob(path + "/nvidia/*/lib"))))' 2>/dev/null)
for folder in "$libraries" /usr/local/cuda/lib64; do
    [ -n "$folder" ] && LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
done
export LD_LIBRARY_PATH

# Programs travel compressed.
for program in "$KIT"/bin/*.gz; do
    to=$BIN/$(basename "$program" .gz)
    gzip -dc "$program" > "$to" && chmod +x "$to"
done

printf 'step\tstate\tseconds\tlimit\n' > "$OUT/steps.tsv"
{
    echo "begun $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "system $(uname -srm)"
    cat "$KIT/kit.txt"
} > "$OUT/about.txt" 2> /dev/null

# One step, printed as it goes, within its own limit and what is left of all.
step() {
    name=$1 limit=$2 file=$3
    left=$((begun + seconds - $(date +%s)))
    [ "$limit" -gt "$left" ] && limit=$left
    if [ "$limit" -lt 5 ]; then
        echo "== $name: no time is left for it"
        printf '%s\tno time left\t0\t0\n' "$name" >> "$OUT/steps.tsv"
        return
    fi
    echo "== $name, at most $limit s"
    start=$(date +%s)
    : > "$OUT/$name.txt"
    timeout -k 5 "$limit" sh "$file" > "$OUT/$name.txt" 2>&1 < /dev/null &
    running=$!
    tail -n +1 -s 0.2 -f --pid="$running" "$OUT/$name.txt" 2> /dev/null &
    shown=$!
    wait "$running"
    code=$?
    running=
    wait "$shown"
    case $code in 0) state=ok ;; 124 | 137) state="over its limit" ;; *) state="failed: exit $code" ;; esac
    took=$(($(date +%s) - start))
    echo "== $name: $state, $took s"
    printf '%s\t%s\t%s\t%s\n' "$name" "$state" "$took" "$limit" >> "$OUT/steps.tsv"
}

for file in "$KIT"/steps/*.sh; do
    name=$(basename "$file" .sh)
    limit=$(sed -n '2s/^# limit: \([0-9][0-9]*\) s$/\1/p' "$file")
    case "$chosen" in "  " | *" $name "* | *" ${name#*-} "*) step "$name" "${limit:-60}" "$file" ;; esac
done

ended=$(($(date +%s) - begun))
echo "ended after $ended s" >> "$OUT/about.txt"
all=$(($(wc -l < "$OUT/steps.tsv") - 1))
well=$(awk -F '\t' '$2 == "ok"' "$OUT/steps.tsv" | wc -l)
echo "$((well)) of $all steps ended well, after $ended s: $OUT/steps.tsv"
