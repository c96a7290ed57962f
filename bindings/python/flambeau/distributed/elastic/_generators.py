"""Where all random generators of a process stand, as plain values: those of every device, of
Python, and of NumPy where the program has loaded it."""

import random
import sys

from ..._gen import api
from ...random import default_of

_KINDS = "cuda", "sim"


def _devices():
    return ["cpu", *(f"{kind}:{i}" for kind in _KINDS for i in range(api.device_count(kind)))]


def standing():
    """Where they stand."""
    found = {
        "devices": {
            device: [default_of(device).initial_seed(), default_of(device).get_offset()]
            for device in _devices()
        },
        "python": random.getstate(),
    }
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        found["numpy"] = (kind, keys.tolist(), *rest)
    return found


def put_back(found):
    """Puts them there; those of devices that are gone are left out."""
    for device in set(_devices()) & found["devices"].keys():
        seed, offset = found["devices"][device]
        default_of(device).manual_seed(seed).set_offset(offset)
    random.setstate(found["python"])
    if "numpy" in found:
        import numpy

        numpy.random.set_state(found["numpy"])
