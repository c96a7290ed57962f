"""Variables of the environment that must be there, and words in a command that stand for a rank."""

import os
from string import Template

from .distributed import get_socket_with_port

__all__ = ["get_env_variable_or_raise", "get_socket_with_port", "macros"]


def get_env_variable_or_raise(env_name):
    """The variable's value; ValueError where it is not set."""
    if env_name not in os.environ:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return os.environ[env_name]


class macros:
    """Words in a program's arguments that the launcher replaces for each process."""

    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args, local_rank):
        """The arguments with the rank in them; what is not a string stays as it is."""
        return [
            Template(a).safe_substitute(local_rank=local_rank) if isinstance(a, str) else a
            for a in args
        ]
