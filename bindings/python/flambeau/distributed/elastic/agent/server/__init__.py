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
from .local_elastic_agent import LocalElasticAgent

__all__ = ["ElasticAgent", "LocalElasticAgent", "RunResult", "SimpleElasticAgent", "Worker",
           "WorkerGroup", "WorkerSpec", "WorkerState"]  # fmt: skip
