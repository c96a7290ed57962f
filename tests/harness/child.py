"""Programs of tests in processes of their own, which find the modules that the test does."""

import os
import subprocess
import sys


def python(*arguments, timeout=None, text=None, before=None, **environment):
    """How a Python ended that got `text` to read and called `before` in its process first."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True,
        text=True,
        input=text,
        timeout=timeout,
        preexec_fn=before,
    )


def output(program, *arguments, **environment):
    """What a program printed that has to end well."""
    done = python("-c", program, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
