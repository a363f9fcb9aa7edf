"""One kernel by three clocks, in turns: this harness's, `torch.cuda.Event` and Triton's `do_bench`."""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import subprocess
from pathlib import Path

import torch

KIT, BIN, OUT = (Path(os.environ[name]) for name in ("KIT", "BIN", "OUT"))
NS = 2_000_000
ROUNDS = 3


class Kernel:
    """The kernel of the harness's own scenario, on PyTorch's stream."""

    def __init__(self) -> None:
        torch.zeros(1, device="cuda")  # the primary context, which the kernel is loaded into
        self.cuda = ctypes.CDLL("libcuda.so.1")
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        text = (KIT / "spin.ptx").read_bytes() + b"\0"
        self.checked(self.cuda.cuModuleLoadData(ctypes.byref(module), text))
        self.checked(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), module, b"spin"))
        self.ns = ctypes.c_uint64(NS)
        self.arguments = (ctypes.c_void_p * 1)(ctypes.addressof(self.ns))

    def __call__(self) -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.checked(self.cuda.cuLaunchKernel(self.function, 1, 1, 1, 1, 1, 1, 0, stream, self.arguments, None))

    def checked(self, code: int) -> None:
        if code:
            raise RuntimeError(f"the driver answered {code}")


def by_events(kernel: Kernel) -> float:
    times = []
    for _ in range(30):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        kernel()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def by_do_bench(kernel: Kernel) -> float:
    from triton.testing import do_bench

    return do_bench(kernel, return_mode="median") * 1e3


def by_harness(number: int) -> float:
    data = OUT / "data-beside" / str(number)
    line = [BIN / "gpu-suite", "--bench", "--platform", "gpu", "--no-lock", "--set", "all", "--data", data]
    ran = subprocess.run(
        [*line, "--repeats", "1", "--mode", "event", "SPIN-1"], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(ran.stdout + ran.stderr)
    (case,) = data.glob("runs/*/cases/*.json")
    metrics = json.loads(case.read_text())["record"]["metrics"]
    (time,) = (metric for metric in metrics if metric["name"] == "device_time")
    return time["estimate"]["median"] * 1e6


def main() -> None:
    kernel = Kernel()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, a kernel of {NS / 1e3:.0f} us", flush=True)
    seen: dict[str, list[float]] = {}
    wrong = []
    clocks = {
        "weighbridge, mode event": by_harness,
        "torch.cuda.Event": lambda _: by_events(kernel),
        "triton do_bench": lambda _: by_do_bench(kernel),
    }
    for number in range(ROUNDS):
        for name, clock in clocks.items():
            try:
                took = clock(number)
            except Exception as why:  # a clock that is not there says so, and the others go on
                wrong.append(f"{name}: {type(why).__name__}: {why}")
                continue
            seen.setdefault(name, []).append(took)
            print(f"round {number + 1}: {name}: {took:.2f} us", flush=True)
    print("\n| clock | median us | lowest | highest |\n| --- | ---: | ---: | ---: |")
    for name, times in seen.items():
        print(f"| {name} | {statistics.median(times):.2f} | {min(times):.2f} | {max(times):.2f} |")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
