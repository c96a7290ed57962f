"""Several models of one class as one: their parameters stacked, for `vmap` over them."""

from .._gen import ops
from ..nn.modules.batchnorm import _BatchNorm


def stack_module_state(models):
    """Parameters and buffers of the models, stacked by name, as two dictionaries; the stacked
    parameters are new leaves that an optimizer can take."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = _stacked([dict(m.named_parameters()) for m in models])
    return params, _stacked([dict(m.named_buffers()) for m in models])


def _stacked(dicts):
    found = {}
    for name in dicts[0]:
        values = [d[name] for d in dicts]
        if len({v.requires_grad for v in values}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = ops.TORCH["stack"]([v.detach() for v in values])
        found[name] = stacked.requires_grad_() if values[0].requires_grad else stacked
    return found


def replace_all_batch_norm_modules_(root):
    """Every batch norm in `root` keeps no running statistics from here on; returns `root`."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
