"""The start of a node's processes: files and pipes of their output, then the processes, by local
rank. What an agent does for a job and `start_processes` for a program."""

import os


def begin(workers, streams, logs, entrypoint, args, envs, prefixes, filters, start_method):
    """Starts the processes with these arguments and whole environments, by local rank, whose output
    goes as `logs` says. `filters`: what lines of stdout and of stderr go to a file of all ranks."""
    for rank, env in envs.items():
        ends = []
        try:
            for stream, files, teed, kept, filtered in (
                ("stdout", logs.stdouts, logs.tee_stdouts, filters[0], logs.filtered_stdout),
                ("stderr", logs.stderrs, logs.tee_stderrs, filters[1], logs.filtered_stderr),
            ):
                if rank in teed:
                    ends.append(
                        streams.pipe(stream, teed[rank], prefixes[rank], kept or (), filtered)
                    )
                elif files[rank]:
                    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                    ends.append(os.open(files[rank], flags, 0o644))
                else:
                    ends.append(None)
            whole = env if callable(entrypoint) else {**os.environ, **env}
            workers.start(rank, entrypoint, args[rank], whole, *ends, start_method)
        finally:
            for end in ends:
                if end is not None:
                    os.close(end)
