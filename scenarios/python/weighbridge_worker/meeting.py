"""Where ranks of one case meet: processes that know of each other."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Meeting:
    """Which of several processes that do one thing together."""

    index: int
    of: int
    meet: str
    """The address of this machine at which the first rank listens."""
    patience: int
    """How long the others are waited for, in nanoseconds."""

    @property
    def seconds(self) -> float:
        return self.patience / 1e9

    def by_torch(self) -> None:
        """Meets the others in the way of PyTorch, by gloo, over this machine's own network alone."""
        from torch import distributed

        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
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
