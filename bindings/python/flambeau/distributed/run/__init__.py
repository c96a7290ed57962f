"""`python -m flambeau.distributed.run [options] SCRIPT [args]`, or `flambeau-run`: starts a script
in several processes as torchrun does, with its options, variables and exit codes. `--help` says
what they are; `main` is for programs that launch from Python and raises what went wrong."""

import os
import sys
import uuid

from ... import _children
from ..elastic.multiprocessing import DefaultLogsSpecs, SignalException, Std
from ..elastic.multiprocessing.errors import ChildFailedError, record
from ..elastic.rendezvous import RendezvousError
from ..elastic.rendezvous.utils import parse_rendezvous_config
from ..elastic.utils import macros
from ..launcher.api import LaunchConfig, elastic_launch
from ._options import get_args_parser

__all__ = ["command_line", "config_from_args", "determine_local_world_size", "get_args_parser",
           "get_rdzv_endpoint", "get_use_env", "main", "parse_args", "parse_min_max_nnodes", "run",
           "run_script_path"]  # fmt: skip


def parse_args(args):
    """The options of a command line."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes):
    """Both numbers of `MIN:MAX`, or the same twice."""
    try:
        least, _, most = nnodes.partition(":")
        return int(least), int(most or least)
    except ValueError:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format') from None


def determine_local_world_size(nproc_per_node):
    """The number that `--nproc-per-node` stands for here."""
    if nproc_per_node.strip().lstrip("+-").isdecimal():
        return int(nproc_per_node)
    from ... import cuda

    if nproc_per_node == "gpu" and not cuda.is_available():
        raise ValueError("Cuda is not available.")
    if nproc_per_node == "gpu" or (nproc_per_node == "auto" and cuda.is_available()):
        return cuda.device_count()
    if nproc_per_node in ("auto", "cpu"):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    raise ValueError(
        f"Unsupported nproc_per_node value: {nproc_per_node}; give a number, cpu, gpu or auto"
    )


def get_rdzv_endpoint(args):
    """Where nodes meet."""
    if args.rdzv_backend == "static" and not args.rdzv_endpoint:
        host = f"[{args.master_addr}]" if ":" in args.master_addr.strip("[]") else args.master_addr
        return f"{host.replace('[[', '[').replace(']]', ']')}:{args.master_port}"
    return args.rdzv_endpoint


def get_use_env(args):
    """Whether the script reads LOCAL_RANK; the old launcher passes it an option instead."""
    return getattr(args, "use_env", True)


def _shown_ranks(text):
    try:
        return {int(rank) for rank in text.split(",")} if text else None
    except ValueError:
        raise ValueError(
            "--local_ranks_filter must be a comma-separated list of integers e.g. "
            f"--local_ranks_filter=0,1,2, but is {text!r}"
        ) from None


def config_from_args(args):
    """The job, its program, and the program's arguments."""
    least, most = parse_min_max_nnodes(args.nnodes)
    settings = parse_rendezvous_config(args.rdzv_conf)
    if args.rdzv_backend == "static":
        settings["rank"] = args.node_rank
    template = args.log_line_prefix_template
    logs = DefaultLogsSpecs(
        log_dir=args.log_dir,
        redirects=Std.from_str(args.redirects),
        tee=Std.from_str(args.tee),
        local_ranks_filter=_shown_ranks(args.local_ranks_filter),
    )
    config = LaunchConfig(
        min_nodes=least,
        max_nodes=most,
        nproc_per_node=determine_local_world_size(args.nproc_per_node),
        logs_specs=logs,
        run_id=args.rdzv_id,
        role=args.role,
        rdzv_endpoint=get_rdzv_endpoint(args),
        rdzv_backend=args.rdzv_backend,
        rdzv_configs=settings,
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
        start_method=args.start_method,
        log_line_prefix_template=template
        or os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"),
        local_addr=args.local_addr,
        event_log_handler=args.event_log_handler,
        signals_to_handle=args.signals_to_handle,
        duplicate_stdout_filters=args.duplicate_stdout_filters,
        duplicate_stderr_filters=args.duplicate_stderr_filters,
        virtual_local_rank=args.virtual_local_rank,
        shutdown_timeout=args.shutdown_timeout,
        job_key_file=getattr(args, "job_key_file", None),
    )
    return config, *_program(args)


def _program(args):
    if args.run_path:
        return run_script_path, [args.training_script, *args.training_script_args]
    before = []
    if not args.no_python:
        before = ["-u", *_children.command, *(["-m"] if args.module else []), args.training_script]
    elif args.module:
        raise ValueError(
            "Don't use both the '--no-python' flag and the '--module' flag at the same time."
        )
    if not get_use_env(args):
        before.append(f"--local-rank={macros.local_rank}")
    program = args.training_script
    if not args.no_python:
        program = os.environ.get("PYTHON_EXEC", sys.executable)
    return program, [*before, *args.training_script_args]


def run_script_path(training_script, *training_script_args):
    """Runs a script as `__main__` in this interpreter."""
    import runpy

    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")


def run(args):
    """Runs a job by parsed options; raises ChildFailedError where it failed."""
    one = args.rdzv_backend == "static" and not args.rdzv_endpoint and args.master_port is None
    if args.standalone or (one and parse_min_max_nnodes(args.nnodes)[1] == 1):
        args.rdzv_backend, args.rdzv_endpoint = "c10d", "localhost:0"
        args.rdzv_id = str(uuid.uuid4())
    if args.master_port is None:
        args.master_port = 29500
    config, program, arguments = config_from_args(args)
    os.environ.update(_children.environment())
    elastic_launch(config=config, entrypoint=program)(*arguments)


@record
def main(args=None):
    """Parses a command line, the program's own by default, and runs it."""
    run(parse_args(args))


def command_line(args=None, entry=main):
    """The same as a command: what went wrong becomes text on stderr and an exit code."""
    try:
        entry(args)
    except ChildFailedError as problem:
        print(problem, file=sys.stderr)
        return 1
    except SignalException as problem:
        print(f"flambeau.distributed.run: ended by {problem.sigval.name}", file=sys.stderr)
        return 128 + problem.sigval
    except RendezvousError as problem:
        print(f"flambeau.distributed.run: {problem}", file=sys.stderr)
        return 1
    except (ValueError, RuntimeError, NotImplementedError, OSError) as problem:
        print(f"flambeau.distributed.run: error: {problem}", file=sys.stderr)
        return 2
    return 0
