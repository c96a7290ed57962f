"""Handlers of metrics, and functions that publish to them."""

import abc
import functools
import time
from collections import namedtuple

from ...._deprecated import warn

__all__ = (
    "ConsoleMetricHandler MetricData MetricHandler MetricStream MetricsConfig NullMetricHandler "
    "configure get_elapsed_time_ms getStream prof profile publish_metric put_metric"
).split()

MetricData = namedtuple("MetricData", ["timestamp", "group_name", "name", "value"])


class MetricsConfig:
    """Parameters by name."""

    __slots__ = ["params"]

    def __init__(self, params=None):
        self.params = {} if params is None else params


class MetricHandler(abc.ABC):
    """Base of handlers."""

    @abc.abstractmethod
    def emit(self, metric_data):
        """Takes a MetricData."""


class ConsoleMetricHandler(MetricHandler):
    """Prints each."""

    def emit(self, metric_data):
        time, group, name, value = metric_data
        print(f"[{time}][{group}]: {name}={value}")


class NullMetricHandler(MetricHandler):
    """Forgets each."""

    def emit(self, metric_data):
        pass


class MetricStream:
    """A group and its handler."""

    def __init__(self, group_name, handler):
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name, metric_value):
        """Publishes a number of the group."""
        self.handler.emit(MetricData(time.time(), self.group_name, metric_name, metric_value))


_handlers = {None: NullMetricHandler()}  # by group; None: of those that have none


def configure(handler, group=None):
    """Sets the handler of a group, or of all that have none of their own."""
    _handlers[group] = handler


def getStream(group):
    """The group with the handler that it has now."""
    return MetricStream(group, _handlers.get(group, _handlers[None]))


def put_metric(metric_name, metric_value, metric_group="torchelastic"):
    """Publishes a number."""
    getStream(metric_group).add_value(metric_name, metric_value)


def _measured(function, key, group):
    @functools.wraps(function)
    def call(*args, **kwargs):
        began = time.time()
        try:
            found = function(*args, **kwargs)
            put_metric(f"{key}.success", 1, group)
        except Exception:
            put_metric(f"{key}.failure", 1, group)
            raise
        finally:
            put_metric(f"{key}.duration.ms", get_elapsed_time_ms(began), group)
        return found

    return call


def prof(fn=None, group="torchelastic"):
    """A decorator, or one with its group: each call publishes `NAME.success` or `NAME.failure` and
    `NAME.duration.ms`. NAME is `class.method` of a method, `module.function` of a function."""

    def decorate(function):
        key = function.__qualname__
        if "." not in key and function.__module__:
            key = f"{function.__module__.rpartition('.')[2]}.{key}"
        return _measured(function, key, group)

    return decorate(fn) if fn else decorate


def profile(group=None):
    """An older `prof`, whose names are those of functions alone."""
    warn("Deprecated, use `@prof` instead", FutureWarning)
    return lambda function: _measured(function, function.__name__, group)


def publish_metric(metric_group, metric_name, metric_value):
    """An older `put_metric`."""
    warn(
        "Deprecated, use `put_metric(metric_group)(metric_name, metric_value)` instead",
        FutureWarning,
    )
    put_metric(metric_name, metric_value, metric_group)


def get_elapsed_time_ms(start_time_in_seconds):
    """Whole milliseconds since a `time.time()`."""
    return int((time.time() - start_time_in_seconds) * 1000)
