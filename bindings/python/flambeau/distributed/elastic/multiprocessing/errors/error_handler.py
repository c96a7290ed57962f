"""What a process writes before it dies by an exception: a JSON file, of which its launcher tells.

The file appears whole or not at all, for the launcher may read it, or end the process, at any
time."""

import faulthandler
import json
import os
import time
import traceback
import warnings

__all__ = ["ErrorHandler"]


class ErrorHandler:
    """Writes exceptions to the file that TORCHELASTIC_ERROR_FILE names, and nothing where it names
    none. Subclasses may record them elsewhere."""

    _fn_name = None

    def _get_error_file_path(self):
        return os.environ.get("TORCHELASTIC_ERROR_FILE") or None

    def set_entrypoint_fn_name(self, fn_name):
        """Tells which function is about to run."""
        self._fn_name = fn_name

    def initialize(self):
        """Before the function: crashes in C print where Python was."""
        try:
            faulthandler.enable(all_threads=True)
        except Exception as problem:  # stderr is closed, or is no file
            text = f"Unable to enable fault handler. {type(problem).__name__}: {problem}"
            warnings.warn(text, stacklevel=2)

    def record_exception(self, e):
        """Writes the exception that is being handled."""
        now = time.time()
        more = {
            "py_callstack": "".join(traceback.format_exception(e)),
            "timestamp": str(int(now)),
            "seconds": now,
            "kinds": [kind.__name__ for kind in type(e).__mro__],
        }
        message = {"message": f"{type(e).__name__}: {e}", "extraInfo": more}
        self._write({"message": message})

    def record_success(self):
        """After the function, where it returned."""

    def dump_error_file(self, rootcause_error_file, error_code=0):
        """Makes a child's error file this process's own."""
        with open(rootcause_error_file) as file:
            self.dump_error(json.load(file), error_code)

    def dump_error(self, data, error_code=0):
        """The same of what such a file held."""
        if error_code and isinstance(data.get("message"), dict):
            data["message"]["errorCode"] = error_code
        self._write(data)

    def _write(self, data):
        path = self._get_error_file_path()
        if path is None:
            return
        beside = f"{path}.{os.getpid()}"
        try:
            with open(beside, "w") as file:
                json.dump(data, file)
            os.replace(beside, path)
        except OSError as problem:  # the program's own error is what counts
            if os.path.exists(beside):
                os.unlink(beside)
            text = f"Unable to write error to file. {type(problem).__name__}: {problem}"
            warnings.warn(text, stacklevel=2)
