"""The launcher as a library: `elastic_launch(LaunchConfig(...), main)(args)`."""

from .api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
