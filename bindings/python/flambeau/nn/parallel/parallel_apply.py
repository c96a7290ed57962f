"""Replicas run on their inputs, each on its own device.

They are launched one after the other from the calling thread: the work of the devices overlaps
because it is queued on streams, and the order of what Python does stays the same on every run."""

from ..._tensor import Tensor
from ...cuda import device as _current
from .scatter_gather import as_device


def _device_of(value):
    """Where the first tensor in a nest is."""
    if isinstance(value, Tensor):
        return value.device
    if isinstance(value, (tuple, list, dict)):
        inner = value.values() if isinstance(value, dict) else value
        return next((d for d in map(_device_of, inner) if d is not None), None)
    return None


def _described(problem, i, device):
    """The same kind of exception with the replica named, where its constructor takes a text."""
    text = f"Caught {type(problem).__name__} in replica {i} on {device}.\n{problem}"
    try:
        return type(problem)(text)
    except Exception:
        return RuntimeError(text)


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """The results of `modules[i](*inputs[i], **kwargs_tup[i])`, in order."""
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of inputs "
            f"{len(inputs)}"
        )
    named = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    results = []
    for i, (module, given, more) in enumerate(zip(modules, inputs, named)):
        given = given if isinstance(given, (tuple, list)) else (given,)
        device = as_device(devices[i]) if devices is not None else _device_of([given, more])
        try:
            if device is None or device.type == "cpu":
                results.append(module(*given, **more))
            else:
                with _current(device):
                    results.append(module(*given, **more))
        except Exception as problem:
            raise _described(problem, i, device) from problem
    return results
