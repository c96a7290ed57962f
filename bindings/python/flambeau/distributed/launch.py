"""`python -m flambeau.distributed.launch`: the launcher in its old spelling, which passes scripts
`--local-rank=N` unless it is told `--use-env`."""

import sys
import warnings

from .run import command_line, get_args_parser, run

__all__ = ["launch", "main", "parse_args"]


def parse_args(args):
    """The options of a command line."""
    parser = get_args_parser()
    about = "pass no --local-rank=N to the script, which reads LOCAL_RANK from its environment"
    parser.add_argument("--use-env", "--use_env", action="store_true", help=about)
    return parser.parse_args(args)


def launch(args):
    """Runs a job by parsed options."""
    if args.no_python and not args.use_env:
        raise ValueError(
            "When using the '--no-python' flag, you must also set the '--use-env' flag."
        )
    run(args)


def main(args=None):
    """Parses a command line, the program's own by default, and runs it."""
    warnings.warn(
        "The module torch.distributed.launch is deprecated and will be removed in future. Use "
        "torchrun, which sets --use-env: a script reads os.environ['LOCAL_RANK'] instead of the "
        "option --local-rank",
        FutureWarning,
        stacklevel=2,
    )
    launch(parse_args(args))


if __name__ == "__main__":
    sys.exit(command_line(entry=main))
