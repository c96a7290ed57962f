"""The agent of this machine, by torch's names: a spec and its rendezvous become the settings of the
one agent that there is, which the command line runs as well."""

from ....._errors import UnsupportedError
from ....launcher.api import LaunchConfig, launch_agent
from ...multiprocessing.errors import ChildFailedError
from ...rendezvous import RendezvousHandler
from ...rendezvous.utils import parse_rendezvous_endpoint
from .._watchdog import TORCHELASTIC_ENABLE_FILE_TIMER, TORCHELASTIC_TIMER_FILE
from .api import DEFAULT_ROLE, ElasticAgent, RunResult, WorkerState

__all__ = ["LocalElasticAgent", "TORCHELASTIC_ENABLE_FILE_TIMER", "TORCHELASTIC_TIMER_FILE"]


def _endpoint(spec, params):
    """Where nodes meet: as the spec says of the first one, else as the rendezvous does."""
    if spec.master_addr is None and spec.master_port is None:
        return params.endpoint
    # One node takes a free port; several, the backend's where none is said.
    said = parse_rendezvous_endpoint(params.endpoint, 0 if params.max_nodes == 1 else None)
    host, port = spec.master_addr or said[0], spec.master_port or said[1]
    host = f"[{host}]" if ":" in host else host
    return host if port is None else f"{host}:{port}"


def _config(spec, logs_specs, start_method, template, shutdown_timeout):
    """The settings of a job."""
    if type(spec.rdzv_handler) is not RendezvousHandler:
        raise UnsupportedError(
            f"LocalElasticAgent: an rdzv_handler of type {type(spec.rdzv_handler).__name__} is "
            "unsupported; nodes meet over c10d or static, by get_rendezvous_handler(params)"
        )
    params = spec.rdzv_handler._params
    return LaunchConfig(
        min_nodes=params.min_nodes,
        max_nodes=params.max_nodes,
        nproc_per_node=spec.local_world_size,
        logs_specs=logs_specs,
        run_id=params.run_id,
        role=spec.role,
        rdzv_endpoint=_endpoint(spec, params),
        rdzv_backend=params.backend,
        rdzv_configs=dict(params.config),
        max_restarts=spec.max_restarts,
        monitor_interval=spec.monitor_interval,
        start_method=start_method,
        log_line_prefix_template=template,
        local_addr=spec.local_addr or params.local_addr,
        event_log_handler=spec.event_log_handler,
        numa_options=spec.numa_options,
        duplicate_stdout_filters=spec.duplicate_stdout_filters,
        duplicate_stderr_filters=spec.duplicate_stderr_filters,
        virtual_local_rank=spec.virtual_local_rank,
        shutdown_timeout=shutdown_timeout,
    )


class LocalElasticAgent(ElasticAgent):
    """Runs the ranks of `spec` here. `exit_barrier_timeout` counts for nothing: the nodes of a job
    wait for each other as long as it runs."""

    def __init__(self, spec, logs_specs, start_method="spawn", exit_barrier_timeout=300,
                 log_line_prefix_template=None, shutdown_timeout=30, health_check_server=None,
                 uninterruptible_state_timeout=None):  # fmt: skip
        unsupported = {
            "health_check_server": health_check_server,
            "uninterruptible_state_timeout": uninterruptible_state_timeout,
        }
        for name, value in unsupported.items():
            if value is not None:
                raise UnsupportedError(f"LocalElasticAgent: {name} is unsupported")
        self._spec = spec
        self._config = _config(
            spec, logs_specs, start_method, log_line_prefix_template, shutdown_timeout
        )

    def run(self, role=DEFAULT_ROLE):
        """Runs them to their end; the failures of all nodes are in the result."""
        spec = self._spec
        try:
            values = launch_agent(self._config, spec.entrypoint, list(spec.args))
        except ChildFailedError as problem:
            return RunResult(WorkerState.FAILED, failures=dict(problem.failures))
        finally:
            spec.rdzv_handler.set_closed()
        return RunResult(WorkerState.SUCCEEDED, return_values=values)
