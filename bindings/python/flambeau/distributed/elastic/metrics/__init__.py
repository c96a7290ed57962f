"""`torch.distributed.elastic.metrics`: numbers by group and name that a program publishes, to one
handler for each group; nobody sees them until one is configured."""

from .api import (
    ConsoleMetricHandler,
    MetricData,
    MetricHandler,
    MetricsConfig,
    MetricStream,
    NullMetricHandler,
    configure,
    get_elapsed_time_ms,
    getStream,
    prof,
    profile,
    publish_metric,
    put_metric,
)

__all__ = (
    "ConsoleMetricHandler MetricData MetricHandler MetricStream MetricsConfig NullMetricHandler "
    "configure get_elapsed_time_ms getStream initialize_metrics prof profile publish_metric "
    "put_metric"
).split()


def initialize_metrics(cfg=None):
    """Where a package that replaces handlers would do so; there is none."""
