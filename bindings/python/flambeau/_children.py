"""How new interpreters of this program start: `command` stands between the interpreter and the
script. as_torch puts itself there, so that a script that says `import torch` finds flambeau in
every process that a launcher starts."""

import os
import sys

command = []


def environment():
    """What such an interpreter needs of the environment: where this package is."""
    if not command:
        return {}
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.environ.get("PYTHONPATH", "")
    if home in path.split(os.pathsep) or any(home == p for p in sys.path if "site-packages" in p):
        return {}
    return {"PYTHONPATH": f"{path}{os.pathsep}{home}" if path else home}
