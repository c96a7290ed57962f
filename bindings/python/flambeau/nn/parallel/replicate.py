"""Copies of a module on other devices, for one forward: their parameters are differentiable copies
of the original's, so that gradients arrive, summed, where the optimizer looks.

A replica on the original's own device holds the original tensors: what it writes to buffers, such
as running statistics, stays."""

from .scatter_gather import as_device


def _moved(tensors, device, detached, done):
    found = {}
    for name, t in tensors.items():
        if t is not None and id(t) not in done:
            done[id(t)] = (t.detach() if detached else t).to(device, non_blocking=True)
        found[name] = None if t is None else done[id(t)]
    return found


def _replicated(module, device, detach, done):
    """`done` keeps shared tensors and children shared in the replica too."""
    if id(module) not in done:
        groups = {
            "_parameters": _moved(module._parameters, device, detach, done),
            "_buffers": _moved(module._buffers, device, True, done),
            "_modules": {
                name: None if child is None else _replicated(child, device, detach, done)
                for name, child in module._modules.items()
            },
        }
        done[id(module)] = module._replicate_for_data_parallel()
        done[id(module)].__dict__.update(groups)
    return done[id(module)]


def replicate(network, devices, detach=False):
    """One replica of `network` per device; with `detach` no gradients flow back."""
    return [_replicated(network, as_device(d), detach, {}) for d in devices]
