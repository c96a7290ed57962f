"""The options of the launcher: torchrun's, with dashes or underscores, each with a default from
the environment (`PET_NNODES=2`)."""

import os
import sys
from argparse import REMAINDER, ArgumentParser, RawDescriptionHelpFormatter

from ..argparse_util import check_env, env
from ..elastic._job_key import HOW_TO_MAKE_A_KEY

_ABOUT = f"""\
Runs a script in several processes, on one machine or many, and watches them.

  flambeau-run --nproc-per-node 4 train.py --epochs 3
  flambeau-run --standalone --nproc-per-node gpu --max-restarts 3 train.py

On two machines, each with its own rank and a copy of the same key:

  {HOW_TO_MAKE_A_KEY}
  flambeau-run --nnodes 2 --node-rank 0 --master-addr node0 --job-key-file job.key train.py
"""

_AFTER = """\
Each process finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in
its environment, and the number of restarts as TORCHELASTIC_RESTART_COUNT. When one fails, all are
ended (SIGTERM, then SIGKILL) and, up to --max-restarts times, started again on all nodes.
With --nnodes MIN:MAX and --rdzv-backend c10d, nodes may come and go: all start again with a new
WORLD_SIZE when one does, which is no restart. A node that is lost without a word mostly makes ranks
of others fail first, which is one: give --max-restarts. The node that has the store has to stay.

A Python program's traceback is in the report of a failure where its main function is decorated
with record, of distributed.elastic.multiprocessing.errors.

Exit code: 0 when all processes succeeded, 1 when one failed or a node was lost, 2 for wrong
options, 128 + N when the launcher was told to end by signal N.
"""


def _list(text):
    """Words between commas; two commas are one in a word."""
    return [word.replace("\0", ",") for word in text.replace(",,", "\0").split(",")]


class _Parser(ArgumentParser):
    """Errors in two lines: the options alone would fill a screen."""

    def error(self, message):
        self.exit(
            2,
            f"{self.prog}: error: {message}\n"
            f"  {self.prog} --nproc-per-node 2 train.py starts a script; --help says the rest\n",
        )


def get_args_parser():
    """The parser of the command line."""
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    parser = _Parser(
        prog="python -m flambeau.distributed.run" if name == "__main__.py" else None,
        description=_ABOUT,
        epilog=_AFTER,
        formatter_class=RawDescriptionHelpFormatter,
    )

    def option(group, name, about, *short, action=env, **more):
        names = list(dict.fromkeys([f"--{name}", f"--{name.replace('-', '_')}"]))
        group.add_argument(*short, *names, action=action, help=about, **more)

    for add in _processes, _rendezvous, _output, _script, _ending:
        add(parser, option)
    parser.add_argument("training_script", help="the script, or the module with -m")
    rest = parser.add_argument("training_script_args", nargs=REMAINDER, help="its arguments")
    rest.required = False  # Python before 3.13 asks for them where the script is missing
    return parser


def _processes(parser, option):
    group = parser.add_argument_group("processes")
    about = "number of machines, or the least and the most as MIN:MAX (default: 1)"
    option(group, "nnodes", about, default="1:1", metavar="N")
    about = "processes on each: a number, cpu (one a core), gpu (one a GPU) or auto (default: 1)"
    option(group, "nproc-per-node", about, default="1", metavar="N")
    about = "how often all processes may start again after a failure (default: 0)"
    option(group, "max-restarts", about, type=int, default=0, metavar="N")
    about = "name of these processes, as ROLE_NAME (default: default)"
    option(group, "role", about, default="default")
    about = "each process sees one GPU, as number 0, and LOCAL_RANK is 0"
    option(group, "virtual-local-rank", about, action=check_env)
    about = "how functions are started (with --run-path; default: spawn)"
    choices = ["spawn", "fork", "forkserver"]
    option(group, "start-method", about, default="spawn", choices=choices)


def _rendezvous(parser, option):
    group = parser.add_argument_group("how processes and nodes find each other")
    about = "one machine, a free port, settings of the rendezvous ignored"
    option(group, "standalone", about, action=check_env)
    about = "this machine's number, from 0, with the static backend (default: 0)"
    option(group, "node-rank", about, type=int, default=0, metavar="N")
    about = "host or address of node 0, with the static backend (default: 127.0.0.1)"
    option(group, "master-addr", about, default="127.0.0.1", metavar="HOST")
    about = "port on node 0, with the static backend (default: free on one machine, else 29500)"
    option(group, "master-port", about, type=int, metavar="PORT")
    about = "the name of this machine for others (default: its host name)"
    option(group, "local-addr", about, metavar="HOST")
    about = "static (nodes have numbers) or c10d (by arrival; default: static)"
    option(group, "rdzv-backend", about, default="static", metavar="NAME")
    about = "where the nodes of a c10d job meet; the machine of that address hosts the store"
    option(group, "rdzv-endpoint", about, default="", metavar="HOST:PORT")
    option(group, "rdzv-id", "the job's name, the same on all nodes", default="none", metavar="ID")
    about = (
        "join_timeout=SECONDS to wait for all nodes (600); is_host=true|false; "
        "keep_alive_interval (5) times keep_alive_max_attempt (3) seconds until a silent node is "
        "lost; with --nnodes MIN:MAX last_call_timeout=SECONDS for more than MIN to come (30)"
    )
    option(group, "rdzv-conf", about, default="", metavar="KEY=VALUE,...")
    about = (
        "a file with the key that the job's nodes share, without which its processes hear nobody; "
        "FLAMBEAU_JOB_KEY holds it otherwise; one machine makes its own"
    )
    option(group, "job-key-file", about, metavar="FILE")


def _output(parser, option):
    group = parser.add_argument_group("output")
    about = (
        "folder of logs: RUN_ID_xxxx/attempt_N/LOCAL_RANK/{stdout.log,stderr.log,error.json}, with "
        "nodes that come and go attempt_N_round_M"
    )
    option(group, "log-dir", about, metavar="DIR")
    about = "streams that go to files: 1 stdout, 2 stderr, 3 both, or by local rank as 0:3,1:1"
    option(group, "redirects", about, "-r", default="0", metavar="STREAMS")
    about = "streams that go to files and, with [role and local rank]: in front, to the console"
    option(group, "tee", about, "-t", default="0", metavar="STREAMS")
    about = "local ranks whose output the console shows, as 0,1 (default: all)"
    option(group, "local-ranks-filter", about, default="", metavar="RANKS")
    about = (
        "what stands in front of lines: ${role_name}, ${local_rank}, ${rank} and ${hostname} are "
        "replaced (default: [${role_name}${local_rank}]:)"
    )
    option(group, "log-line-prefix-template", about, default="", metavar="TEXT")
    for stream in "stdout", "stderr":
        about = (
            f"lines of --tee's {stream} with one of these words also go to filtered_{stream}.log"
        )
        option(group, f"duplicate-{stream}-filters", about, type=_list, default=[], metavar="WORDS")
    option(group, "event-log-handler", "null, the only one", default="null", metavar="NAME")


def _script(parser, option):
    group = parser.add_argument_group("the script")
    option(group, "module", "run a module, as python -m does", "-m", action=check_env)
    option(group, "no-python", "run a program that is not Python", action=check_env)
    about = "run the script in a process made by multiprocessing instead of a new command"
    option(group, "run-path", about, action=check_env)


def _ending(parser, option):
    group = parser.add_argument_group("watching and ending")
    about = "seconds between looks at other nodes (default: 0.1)"
    option(group, "monitor-interval", about, type=float, default=0.1, metavar="SECONDS")
    about = "signals that are handed down and end the job (default: SIGTERM,SIGINT,SIGHUP,SIGQUIT)"
    option(
        group, "signals-to-handle", about, default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", metavar="NAMES"
    )
    about = (
        "seconds from that signal to SIGKILL (default: TORCH_ELASTIC_SHUTDOWN_TIMEOUT, else 30); "
        "a second signal is a SIGKILL at once"
    )
    option(group, "shutdown-timeout", about, type=int, metavar="SECONDS")
