"""`torch.__config__`: what the library is and has found, for programs that print it in reports."""

from ._gen import api
from .utils.collect_env import get_pretty_env_info as show


def parallel_info():
    """How many threads an operation may use."""
    return f"flambeau: an operation uses up to {api.get_num_threads()} threads"
