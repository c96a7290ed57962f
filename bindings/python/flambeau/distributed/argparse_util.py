"""Options that take their default from the environment: `PET_NNODES=2` stands for `--nnodes 2`, and
what the command line says comes first."""

import os
from argparse import Action

__all__ = ["check_env", "env"]


class env(Action):
    """An option with a value, else that of `PET_<DEST>`, else the default."""

    def __init__(self, dest, default=None, required=False, **kwargs):
        default = os.environ.get(f"PET_{dest.upper()}", default)
        super().__init__(dest=dest, default=default, required=required and not default, **kwargs)

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values)


class check_env(Action):
    """A switch, which `PET_<DEST>` turns on by a number that is not 0."""

    def __init__(self, dest, default=False, **kwargs):
        said = os.environ.get(f"PET_{dest.upper()}", str(int(default)))
        try:
            default = bool(int(said))
        except ValueError:
            raise ValueError(
                f"PET_{dest.upper()} has {said!r}; a switch is 1 for on or 0 for off"
            ) from None
        super().__init__(dest=dest, const=True, default=default, nargs=0, **kwargs)

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, self.const)
