"""Where ranks of one case meet: processes that know of each other."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from dataclasses import dataclass
from datetime import timedelta

ADDRESS_OF = 0x8915
"""Linux's request for the address of an interface."""


def interface(address: str) -> str:
    """The network interface of this machine that has this address: `lo` has that of the machine's own loop."""
    wanted = socket.inet_aton(address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            try:
                told = fcntl.ioctl(asking.fileno(), ADDRESS_OF, struct.pack("256s", name.encode()))
            except OSError:
                continue  # it has no address
            if told[20:24] == wanted:
                return name
    if wanted[0] == 127:
        return "lo"
    raise RuntimeError(f"no network interface of this machine has the address {address}")


@dataclass(frozen=True)
class Meeting:
    """Which of several processes that do one thing together."""

    index: int
    of: int
    meet: str
    """The address at which the first rank listens."""
    own: str
    """The address by which others reach this machine."""
    patience: int
    """How long the others are waited for, in nanoseconds."""

    @property
    def seconds(self) -> float:
        return self.patience / 1e9

    def by_torch(self) -> None:
        """Meets the others in the way of PyTorch, by gloo, over the network that they reach this machine by."""
        from torch import distributed

        os.environ["GLOO_SOCKET_IFNAME"] = interface(self.own)
        distributed.init_process_group(
            "gloo",
            init_method=f"tcp://{self.meet}",
            rank=self.index,
            world_size=self.of,
            timeout=timedelta(seconds=self.seconds),
        )

    def by_jax(self) -> None:
        """Meets the others in the way of JAX: each process has one device, and sees those of all."""
        import jax

        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        seconds = max(1, round(self.seconds))
        jax.distributed.initialize(
            self.meet, self.of, self.index, initialization_timeout=seconds, heartbeat_timeout_seconds=seconds
        )
        if jax.device_count() != self.of:
            raise RuntimeError(f"{self.of} ranks have met, and JAX has {jax.device_count()} devices of them")
