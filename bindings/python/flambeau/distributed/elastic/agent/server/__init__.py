"""The agent that runs a job's ranks on one node, for programs that launch by themselves."""

from .api import (
    ElasticAgent,
    RunResult,
    SimpleElasticAgent,
    Worker,
    WorkerGroup,
    WorkerSpec,
    WorkerState,
)
from .local_elastic_agent import (
    TORCHELASTIC_ENABLE_FILE_TIMER,
    TORCHELASTIC_TIMER_FILE,
    LocalElasticAgent,
)

__all__ = ["ElasticAgent", "LocalElasticAgent", "RunResult", "SimpleElasticAgent",
           "TORCHELASTIC_ENABLE_FILE_TIMER", "TORCHELASTIC_TIMER_FILE", "Worker",
           "WorkerGroup", "WorkerSpec", "WorkerState"]  # fmt: skip
