"""What an agent is told of the ranks that it is to run, and what it says when they have ended."""

import abc
import os
from dataclasses import dataclass, field
from enum import Enum

from ..... import _refused
from ....._deprecated import warn
from ...rendezvous import RendezvousHandler

_REFUSED = "SimpleElasticAgent Worker WorkerGroup"
__all__ = ["DEFAULT_ROLE", "ElasticAgent", "RunResult", "WorkerSpec", "WorkerState",
           *_REFUSED.split()]  # fmt: skip

DEFAULT_ROLE = "default"


@dataclass
class WorkerSpec:
    """The ranks of a node: how many, what they run, how the nodes meet, and how often all may start
    again."""

    role: str
    local_world_size: int
    rdzv_handler: RendezvousHandler
    fn: object = None  # entrypoint's old name
    entrypoint: object = None
    args: tuple = ()
    max_restarts: int = 3
    monitor_interval: float = 0.1
    master_port: int | None = None
    master_addr: str | None = None
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: object = None
    duplicate_stdout_filters: list | None = None
    duplicate_stderr_filters: list | None = None
    virtual_local_rank: bool = False

    def __post_init__(self):
        for name in ("local_world_size", "monitor_interval"):
            if not getattr(self, name) > 0:
                raise AssertionError(
                    f"WorkerSpec: {name} must be more than 0, got {getattr(self, name)}"
                )
        if self.fn:
            warn("WorkerSpec.fn will be deprecated, please use WorkerSpec.entrypoint instead",
                 DeprecationWarning)  # fmt: skip
            self.entrypoint = self.fn
        if not self.entrypoint:
            raise AssertionError("WorkerSpec: give an entrypoint, a function or a program")

    def get_entrypoint_name(self):
        """The function's name, or the program's without its folder."""
        if isinstance(self.entrypoint, str):
            return os.path.basename(self.entrypoint)
        return self.entrypoint.__qualname__


class WorkerState(str, Enum):
    """Of all ranks of a node together."""

    UNKNOWN, INIT, HEALTHY = "UNKNOWN", "INIT", "HEALTHY"
    UNHEALTHY, STOPPED = "UNHEALTHY", "STOPPED"
    SUCCEEDED, FAILED = "SUCCEEDED", "FAILED"

    @staticmethod
    def is_running(state):
        """Whether processes of theirs are there."""
        return state in (WorkerState.HEALTHY, WorkerState.UNHEALTHY)


@dataclass
class RunResult:
    """How the ranks of a node ended, by global rank: what their functions returned, or failures."""

    state: WorkerState
    return_values: dict = field(default_factory=dict)
    failures: dict = field(default_factory=dict)

    def is_failed(self):
        """Whether the job failed."""
        return self.state == WorkerState.FAILED


class ElasticAgent(abc.ABC):
    """What runs the ranks of a node."""

    @abc.abstractmethod
    def run(self, role=DEFAULT_ROLE):
        """Runs them to their end: a RunResult, or what the agent itself died of."""


globals().update(
    _refused.names(
        "torch.distributed.elastic.agent.server.api",
        _REFUSED,
        "an agent's processes are its own; LocalElasticAgent starts and watches them",
    )
)
