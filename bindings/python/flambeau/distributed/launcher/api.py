"""Runs a function or a program in the processes of a job, from Python; the command line of
`flambeau.distributed.run` comes down to this as well.

    config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2)
    values = elastic_launch(config, train)("arguments")  # by rank
"""

import os
import shutil
import sys
import uuid
from dataclasses import dataclass, field

from ..elastic._job_key import job_key
from ..elastic.agent import Agent
from ..elastic.multiprocessing import DefaultLogsSpecs
from ..elastic.multiprocessing.errors import ChildFailedError

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclass
class LaunchConfig:
    """A job: how many nodes and processes on each, how nodes find each other, how often all may
    start again, and where output goes. Each field is an option of the command line."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: object = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: object = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list | None = None
    duplicate_stderr_filters: list | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None
    job_key_file: str | None = None

    def __post_init__(self):
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()
        if self.shutdown_timeout is None:
            self.shutdown_timeout = int(os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30"))
        self._check()

    def _check(self):
        for wrong, text in (
            (self.shutdown_timeout < 0,
             f"shutdown_timeout must be non-negative, got {self.shutdown_timeout}"),
            (self.nproc_per_node < 1,
             f"nproc_per_node must be at least 1, got {self.nproc_per_node}"),
            (self.max_restarts < 0, f"max_restarts must be >= 0, got {self.max_restarts}"),
            (not self.monitor_interval > 0,
             f"monitor_interval must be more than 0 seconds, got {self.monitor_interval}"),
            (not 0 < self.min_nodes <= self.max_nodes,
             f"min_nodes must be > 0 and <= max_nodes, got min_nodes={self.min_nodes}, "
             f"max_nodes={self.max_nodes}"),
            (self.min_nodes != self.max_nodes and self.rdzv_backend != "c10d",
             f"nodes that come and go (--nnodes {self.min_nodes}:{self.max_nodes}) need "
             f"--rdzv-backend c10d, but it is {self.rdzv_backend}"),
        ):  # fmt: skip
            if wrong:
                raise ValueError(text)
        for wrong, text in (
            (self.event_log_handler != "null",
             f"the event log handler {self.event_log_handler!r} is unsupported: there is 'null'"),
            (self.numa_options is not None, "numa_options are unsupported: use numactl"),
        ):  # fmt: skip
            if wrong:
                raise NotImplementedError(text)


class elastic_launch:
    """`elastic_launch(config, entrypoint)(*args)` runs a function, or a program by its name, and
    gives the functions' values by rank. ChildFailedError where a process failed for the last time
    that it may; SignalException where this process was told to end."""

    def __init__(self, config, entrypoint, health_check_server=None):
        if health_check_server is not None:
            raise NotImplementedError("elastic_launch: health_check_server is unsupported")
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args):
        return launch_agent(self._config, self._entrypoint, list(args))


def _name(entrypoint, args):
    if callable(entrypoint):
        return entrypoint.__name__
    if entrypoint != sys.executable:
        return entrypoint
    options = ("-u", "-m", "flambeau.as_torch")
    return next((a for a in args if a not in options), entrypoint)


def launch_agent(config, entrypoint, args):
    """The same as a function."""
    config.run_id = config.run_id or str(uuid.uuid4().int)
    with job_key(config.job_key_file, config.max_nodes):
        try:
            return Agent(config, entrypoint, args, _name(entrypoint, args)).run()
        except ChildFailedError as problem:
            if getattr(config.logs_specs, "temporary", None):  # its error files are about to go
                for failure in problem.failures.values():
                    failure.error_file = "<N/A>"
                raise ChildFailedError(problem.name, problem.failures, problem.ended) from None
            raise
        finally:
            logs = config.logs_specs
            if getattr(logs, "temporary", None):
                shutil.rmtree(logs.temporary, ignore_errors=True)
            if getattr(logs, "left", None):
                print(f"flambeau.distributed.run: logs are in {logs.left}", file=sys.stderr)
