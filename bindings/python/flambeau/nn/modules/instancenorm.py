"""Instance normalisation, and RMSNorm: normalisation without a batch."""

import numbers

from ..._deprecated import warn
from ..._torch import ones
from .. import functional as F
from ..parameter import Parameter
from .batchnorm import _BatchNorm
from .module import Module, stored
from .utils import _family


class _InstanceNorm(_BatchNorm):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False,
                 track_running_stats=False, device=None, dtype=None, *, bias=True):  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self):
        return self._dims[0]

    def forward(self, input):
        self._check_input_dim(input)
        place = input.dim() - self._get_no_batch_dim()
        if input.shape[place] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={place} to match num_features "
                    f"({self.num_features}), but got: {input.shape[place]}."
                )
            warn(
                f"input's size at dim={place} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False"
            )
        alone = place == 0
        held = (self.running_mean, self.running_var, self.weight, self.bias)
        of_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        batch = input.unsqueeze(0) if alone else input
        result = F.instance_norm(batch, *held, of_input, momentum, self.eps)
        return result.squeeze(0) if alone else result


_family(
    globals(),
    _InstanceNorm,
    "InstanceNorm",
    "Instance normalisation over [C, {shape}] or [N, C, {shape}].",
    _dims=lambda n: (n + 1, n + 2),
)


class RMSNorm(Module):
    """Divides by the root mean square over the last dimensions, `normalized_shape`."""

    def __init__(
        self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None
    ):
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape, self.eps = tuple(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        weight = ones(self.normalized_shape, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(weight) if elementwise_affine else None)

    def reset_parameters(self):
        if self.elementwise_affine:
            self.weight.data.fill_(1)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    extra_repr = stored("eps", "elementwise_affine", plain="normalized_shape")
