"""Output of processes on its way to files and to the console: a thread reads their pipes, writes
each byte to the stream's file at once and each line, with its rank in front, to the console as soon
as it is complete. One thread for all, so that no line is torn; it never waits for a pipe that a
process left open to others."""

import os
import selectors
import sys
import threading

_LONGEST = 1 << 16  # of a line that is kept until it is complete


class _Console:
    """A stream of this process, which may be replaced by an object, or be gone."""

    def __init__(self, stream):
        self._stream = stream
        self.tty = bool(getattr(stream, "isatty", lambda: False)())

    def write(self, data):
        """Writes bytes; nothing more after the reader has gone."""
        try:
            buffer = getattr(self._stream, "buffer", None)
            if buffer is not None:
                buffer.write(data)
                buffer.flush()
            elif self._stream is not None:
                self._stream.write(data.decode(errors="replace"))
                self._stream.flush()
        except (OSError, ValueError):
            self._stream = None


class _Source:
    """One stream of one process."""

    def __init__(self, path, prefix, console, filters, filtered):
        self._file = open(path, "ab", buffering=0)
        self._prefix, self._console = prefix.encode(), console
        self._filters, self._filtered = [f.encode() for f in filters], filtered
        self._rest = b""

    def take(self, data):
        """Bytes that the process has written."""
        self._log(data)
        text = self._rest + data
        # On a terminal a progress bar redraws its line; elsewhere it is shown when it is complete.
        lines = text.splitlines(True) if self._console.tty else text.split(b"\n")
        if not self._console.tty:
            lines = [line + b"\n" for line in lines[:-1]] + lines[-1:]
        last = lines.pop() if lines and not lines[-1].endswith((b"\n", b"\r")) else b""
        if len(last) > _LONGEST:
            lines, last = [*lines, last + b"\n"], b""
        self._rest = last
        self._show(lines)

    def close(self):
        """Shows what has no end of line."""
        if self._rest:
            self._show([self._rest + b"\n"])
        self._rest = b""
        if self._file is not None:
            self._file.close()

    def _log(self, data):
        try:
            while data and self._file is not None:
                data = data[self._file.write(data) :]
        except OSError as problem:  # a full disk ends the log and not the job
            name = self._file.name
            self._file.close()
            self._file = None
            print(f"the log {name} ends here: {problem}", file=sys.stderr, flush=True)

    def _show(self, lines):
        if lines:
            self._console.write(b"".join(self._prefix + line for line in lines if line))
        for line in lines:
            if self._filtered is not None and any(f in line for f in self._filters):
                self._filtered.write(self._prefix + line)


class Streams:
    """The pipes of a job's processes."""

    def __init__(self):
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = os.pipe()
        os.set_blocking(self._wake, False)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._consoles = {"stdout": _Console(sys.stdout), "stderr": _Console(sys.stderr)}
        self._filtered = {}
        self._lock = threading.Lock()
        self._thread, self._ending = None, False

    def pipe(self, stream, path, prefix, filters=(), filtered=""):
        """The end for a process to write its `stream` into, which the caller closes."""
        if filters and filtered not in self._filtered:
            self._filtered[filtered] = open(filtered, "ab", buffering=0)
        source = _Source(
            path, prefix, self._consoles[stream], filters, self._filtered.get(filtered)
        )
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        with self._lock:
            self._selector.register(reading, selectors.EVENT_READ, source)
        os.write(self._woken, b".")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="flambeau-logs", daemon=True)
            self._thread.start()
        return writing

    def _run(self):
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    self._drain_wake()
                else:
                    self._read(key)
            if self._ending:  # what is there by now is all that the processes wrote
                for key in list(self._selector.get_map().values()):
                    while key.data is not None and self._read(key):
                        pass
                return

    def _drain_wake(self):
        try:
            while os.read(self._wake, 4096):
                pass
        except BlockingIOError:
            pass

    def _read(self, key):
        """Whether there may be more at once."""
        try:
            data = os.read(key.fd, 1 << 16)
        except BlockingIOError:
            return False
        if data:
            key.data.take(data)
            return True
        self._close(key)
        return False

    def _close(self, key):
        with self._lock:
            self._selector.unregister(key.fd)
        os.close(key.fd)
        key.data.close()

    def close(self, timeout=5.0):
        """After the processes have ended: shows the rest. A console that takes nothing is left."""
        if self._thread is not None:
            self._ending = True
            os.write(self._woken, b".")
            self._thread.join(timeout)
            if self._thread.is_alive():
                return
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                self._close(key)
        self._selector.close()
        os.close(self._wake)
        os.close(self._woken)
        for file in self._filtered.values():
            file.close()
