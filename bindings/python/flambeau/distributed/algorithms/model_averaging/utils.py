"""Averages of parameters over a group."""

from ...._torch import cat
from ....autograd import no_grad
from ....nn.parameter import Parameter
from ... import _collectives as c
from ..._group import group_of, is_no_member

__all__ = [
    "average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average",
]  # fmt: skip


@no_grad()
def average_parameters(params, process_group):
    """Leaves the mean over the ranks in each parameter, those of one device and dtype in one
    message; on a rank that is not in the group nothing."""
    if is_no_member(process_group):
        return
    group = group_of(process_group, "average_parameters")
    alike = {}
    for p in params:
        alike.setdefault((p.device, p.dtype), []).append(p.detach())
    for values in alike.values():
        flat = cat([value.reshape(-1) for value in values]).div_(group.size())
        c.all_reduce(flat, group=group)
        for value, mean in zip(values, flat.split([value.numel() for value in values])):
            value.copy_(mean.view(value.shape))


def get_params_to_average(params):
    """Those of the parameters, or of an optimizer's groups of them, that have gradients."""
    found = []
    for given in params:
        if not isinstance(given, (Parameter, dict)):
            raise NotImplementedError(f"Parameter input of type {type(given)} is not supported")
        found += given["params"] if isinstance(given, dict) else [given]
    return [p for p in found if p.grad is not None]


def average_parameters_or_parameter_groups(params, process_group):
    """The same of parameters, or of the groups of an optimizer, as far as they have gradients."""
    average_parameters(get_params_to_average(params), process_group)
