"""Weight norm by a hook before forward, the older form: parameters `<name>_g` and `<name>_v`.
Source: Salimans and Kingma, 2016, arXiv 1602.07868."""

from ..._deprecated import warn
from ..parameter import Parameter
from ._norms import check_only, norm_except_dim, removed, weight_of


class WeightNorm:
    """The hook."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight from its lengths and directions."""
        v, g = getattr(module, self.name + "_v"), getattr(module, self.name + "_g")
        return weight_of(v, g, self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Splits the parameter and registers the hook."""
        warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of "
            "`torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        check_only(module, WeightNorm, name, "weight_norm")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name).detach()
        delattr(module, name)
        lengths = norm_except_dim(weight, 2, hook.dim)
        module.register_parameter(name + "_g", Parameter(lengths))
        module.register_parameter(name + "_v", Parameter(weight))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module):
        """Makes the parameter whole again."""
        weight = self.compute_weight(module).detach()
        for suffix in "", "_g", "_v":
            delattr(module, self.name + suffix)
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Splits a parameter into lengths and directions."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Takes `weight_norm` off again."""
    return removed(module, WeightNorm, name, "weight_norm")
