"""`spawn`: one function in several processes, whose first failure ends the others and is raised
here with its traceback."""

import multiprocessing
import multiprocessing.connection
import signal
import sys
import traceback


class ProcessException(Exception):
    """What the failures of a process share."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process failed by an exception."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        about = self.msg, self.error_index, self.pid, self.exit_code, self.signal_name
        return type(self), about


def _run(fn, i, args, failed):
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted too, and speaks for all
    except BaseException as problem:
        if isinstance(problem, SystemExit) and problem.code in (None, 0):
            return
        failed.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The running processes; `join` waits for them."""

    def __init__(self, processes, failures):
        self.processes, self._failures = processes, failures
        self.error_queues = failures
        self._waiting = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self):
        return [int(p.pid) for p in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits for processes to end: True once all have; raises the first failure, after it ended
        the others."""
        if not self._waiting:
            return True
        ended = multiprocessing.connection.wait(list(self._waiting), timeout)
        bad = None
        for sentinel in ended:
            index = self._waiting.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                bad = index
                break
        if bad is None:
            return not self._waiting
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period or 30)
            if process.is_alive():
                process.kill()
                process.join()
        self._raise(bad)

    def _raise(self, index):
        process, failures = self.processes[index], self._failures[index]
        if failures.empty():
            code, name = process.exitcode, None
            if code < 0:
                try:
                    name = signal.Signals(-code).name
                except ValueError:
                    name = f"<Unknown signal {-code}>"
            how = f"exit code {code}" if name is None else f"signal {name}"
            text = f"process {index} terminated with {how}"
            raise ProcessExitedException(text, index, process.pid, code, name)
        text = f"\n\n-- Process {index} terminated with the following error:\n{failures.get()}"
        raise ProcessRaisedException(text, index, process.pid)


SpawnContext = ProcessContext


def start_processes(
    fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", numa_options=None
):
    """Starts `fn(i, *args)` in `nprocs` processes; with `join` waits until all have ended."""
    if numa_options is not None:
        raise NotImplementedError("start_processes: numa_options are not supported")
    context = multiprocessing.get_context(start_method)
    failures, processes = [], []
    for i in range(nprocs):
        failed = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, i, args, failed), daemon=daemon)
        process.start()
        failures.append(failed)
        processes.append(process)
    found = ProcessContext(processes, failures)
    if not join:
        return found
    while not found.join():
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Starts `fn(i, *args)` in `nprocs` new interpreters; with `join` waits until all have ended,
    and raises where one failed."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
