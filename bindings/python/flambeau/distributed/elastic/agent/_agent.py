"""The agent of a node: starts its ranks, and ends them all when one fails, on whatever node; starts
all again as often as the job may, or raises what happened.

It hosts the job's store, or keeps near the one that does, so that no rank's death takes it down.
When it is told to end it hands the signal down first; when it is killed, the kernel and a keeper
end its ranks."""

import dataclasses
import os
import signal
import sys
from string import Template

from ..multiprocessing._begin import begin
from ..multiprocessing._keeper import Keeper
from ..multiprocessing._streams import Streams
from ..multiprocessing._workers import Workers
from ..multiprocessing.errors import ChildFailedError, ProcessFailure
from ..rendezvous import RendezvousError, RendezvousGracefulExitError
from ..rendezvous._join import join
from ..utils import macros
from ._environment import layout, variables
from ._signals import Signals
from ._watchdog import watchdog


class Agent:
    """One job's agent on one node. `name` is the program in messages."""

    def __init__(self, config, entrypoint, args, name):
        self._config, self._entrypoint, self._args = config, entrypoint, args
        self._name, self._nodes, self._attempt = name, None, 0

    def run(self):
        """Runs the job to its end. What the functions of this node returned, by rank; None where
        ranks are programs. Nothing where the job succeeded without this node."""
        try:
            return self._run()
        except RendezvousGracefulExitError as ended:
            print(f"flambeau.distributed.run: {ended}", file=sys.stderr, flush=True)
            return {}

    def _run(self):
        with Signals(self._config.signals_to_handle) as self._signals:
            self._nodes = join(self._config, self._signals.pause)
            try:
                self._keeper = Keeper()
                try:
                    return self._attempts()
                finally:
                    self._keeper.close()
            except (ChildFailedError, RendezvousError):
                raise
            except BaseException as problem:
                self._nodes.announce(problem)
                raise
            finally:
                self._nodes.leave()

    def _attempts(self):
        most = self._config.max_restarts
        self._attempt = self._nodes.attempt
        while True:
            with watchdog(self._config.run_id, self._keeper) as self._timers:
                values, failures, ended = self._run_once()
            if failures is None:
                return values
            why, how = self._nodes.changed(), "with the nodes that are there"
            if why is None:
                why = self._what_failed(failures, ended)
                self._attempt += 1
                how = f"(restart {self._attempt} of {most})"
            print(
                f"flambeau.distributed.run: {why}; all ranks start again {how}",
                file=sys.stderr,
                flush=True,
            )
            self._attempt = self._nodes.meet_again(self._attempt, self._signals.pause)

    def _what_failed(self, failures, ended):
        """In words, where the ranks may start again; else raises it."""
        last = self._attempt >= self._config.max_restarts
        if not failures:  # and nobody is left that knows more
            gone = "a rank failed on a node that is lost"
            if last:
                raise RendezvousError(gone)
            return gone
        problem = ChildFailedError(self._name, failures, ended)
        if last:
            raise problem
        rank, first = problem.get_first_failure()
        return f"rank {rank} {first.how()}"

    def _run_once(self):
        """One attempt: values of the ranks here, failures of ranks everywhere (None where all have
        succeeded), and the ranks that were ended because of them."""
        workers, streams = Workers(self._keeper), Streams()
        self._logs = None
        try:
            self._start(workers, streams)
            failures = self._watch(workers)
        except BaseException as problem:
            self._nodes.announce(problem)  # before what may take as long as ranks take to end
            self._stop(workers)
            streams.close()
            raise
        if failures is not None:
            self._stop(workers)
        streams.close()
        base = layout(self._nodes.nodes, self._nodes.rank)["base"]
        values = {base + rank: value for rank, value in workers.values.items()}
        if failures is None:
            return values, None, []
        ended = self._ended(workers, failures)
        report = {
            "failures": {base + rank: dataclasses.asdict(f) for rank, f in failures.items()},
            "ended": [base + rank for rank in ended],
        }
        return values, *_merge(self._nodes.stopped(self._attempt, report, self._signals.pause))

    def _start(self, workers, streams):
        config = self._config
        envs = variables(config, self._nodes, self._attempt)
        for env in envs.values():
            env.update(self._timers)
        logs = self._logs = config.logs_specs.reify(envs)
        if getattr(config.logs_specs, "temporary", None):
            self._keeper.folder(config.logs_specs.temporary)
        args = {
            rank: macros.substitute(self._args, env["LOCAL_RANK"]) for rank, env in envs.items()
        }
        prefixes = {rank: self._prefix(env) for rank, env in envs.items()}
        filters = config.duplicate_stdout_filters, config.duplicate_stderr_filters
        begin(workers, streams, logs, self._entrypoint, args, envs, prefixes, filters,
              config.start_method)  # fmt: skip

    def _prefix(self, env):
        template = self._config.log_line_prefix_template
        if not template:
            return f"[{self._config.role}{env['LOCAL_RANK']}]:"
        return Template(template).safe_substitute(
            role_name=self._config.role,
            rank=env["RANK"],
            local_rank=env["LOCAL_RANK"],
            hostname=os.uname().nodename,
        )

    def _watch(self, workers):
        """Returns None when all ranks of all nodes have succeeded, and else the failures here,
        which may be none."""
        while True:
            workers.wait(self._config.monitor_interval, self._signals.wake)
            self._signals.check()
            ended = workers.collect()
            failures = self._failures(workers, [r for r in ended if workers.exit_codes[r] != 0])
            if failures:
                self._nodes.failed(self._attempt)
                return failures
            self._nodes.beat()
            if self._nodes.failed_elsewhere(self._attempt):
                return {}
            if not workers.running:
                if self._nodes.done(self._attempt):
                    return None
                self._signals.pause(self._config.monitor_interval)

    def _failures(self, workers, ranks):
        files, found = self._logs.error_files, {}
        for rank in ranks:
            code = workers.exit_codes[rank]
            found[rank] = ProcessFailure(rank, workers.pids[rank], code, files[rank])
            found[rank].printed_to(self._stderr_of(rank))
        return found

    def _stderr_of(self, rank):
        """The file that outlives the job with what a rank printed; None where there is none."""
        logs = self._logs
        kept = not getattr(self._config.logs_specs, "temporary", None)
        return (logs.tee_stderrs.get(rank) or logs.stderrs[rank]) or None if kept else None

    def _ended(self, workers, failures):
        """The ranks that our signal ended. One that failed before it came, or that has recorded an
        error, joins the failures."""
        bad = [r for r, code in workers.exit_codes.items() if code != 0 and r not in failures]
        for rank, about in self._failures(workers, bad).items():
            if rank not in workers.ended_by_us or isinstance(about.message, dict):
                failures[rank] = about
        return [rank for rank in workers.ended_by_us if rank not in failures]

    def _stop(self, workers):
        """Ends all ranks here, by the signal that told this process to end if one did."""
        received = self._signals.received
        number, before = received[0] if received else signal.SIGTERM, len(received)
        left = workers.stop(
            number,
            self._config.shutdown_timeout,
            self._beat,
            lambda: len(received) > before,  # told again
        )
        for rank in left:
            print(
                f"flambeau.distributed.run: local rank {rank} (pid {workers.pids[rank]}) hangs in "
                "the kernel and could not be ended by SIGKILL",
                file=sys.stderr,
                flush=True,
            )

    def _beat(self):
        try:
            self._nodes.beat()
        except RendezvousError:
            pass  # the ranks are being ended already; who asks next is told


def _merge(reports):
    """The failures and the ended ranks of all nodes."""
    failures, ended = {}, []
    for report in reports:
        ended += report["ended"]
        for rank, about in report["failures"].items():
            failure = ProcessFailure(about["local_rank"], about["pid"], about["exitcode"], "")
            vars(failure).update(about)
            failures[int(rank)] = failure
    return failures, ended
