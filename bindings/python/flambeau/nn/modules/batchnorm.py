"""Normalisation layers: BatchNorm1d to 3d and LayerNorm, GroupNorm over their functional forms."""

from ..._gen import api
from ..._tensor import Tensor
from ..._torch import int64, ones, tensor, zeros
from .. import functional as F
from ..parameter import Parameter
from .module import Module, stored
from .utils import _family

_batch_norm = F.batch_norm
_OWN = Tensor, Parameter, type(None)


class _Affine(Module):
    """A scale and a shift, each of which may be missing."""

    def _add_affine(self, shape, scaled, shifted, **kind):
        for name, make, has in ("weight", ones, scaled), ("bias", zeros, scaled and shifted):
            self.register_parameter(name, Parameter(make(shape, **kind)) if has else None)

    def reset_parameters(self):
        if self.weight is not None:
            self.weight.data.fill_(1)
        if self.bias is not None:
            self.bias.data.zero_()


class _BatchNorm(_Affine):
    _version = 2
    _dims = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 device=None, dtype=None, *, bias=True):  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        kind = {"device": device, "dtype": dtype}
        self._add_affine(num_features, affine, bias, **kind)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **kind) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **kind) if tracked else None)
        self.register_buffer(
            "num_batches_tracked", tensor(0, dtype=int64, device=device) if tracked else None
        )

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input):
        if input.dim() not in self._dims:
            wanted = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        counted = self.num_batches_tracked
        if self.training and self.track_running_stats and counted is not None:
            parts = counted, self.running_mean, self.running_var, self.weight, self.bias
            # One launch counts as well, where nobody's own takes the place of a part.
            plain = F.batch_norm is _batch_norm and all(t.__class__ in _OWN for t in parts)
            plain = plain and input.__class__ is Tensor and input.device == counted.device
            if plain and self.momentum is not None:
                return api.batch_norm_tracked(input, *parts, factor, self.eps)
            counted.add_(1)
            if self.momentum is None:
                factor = 1.0 / counted.item()
        use_batch = self.training or self.running_mean is None
        tracked = not self.training or self.track_running_stats
        running = (self.running_mean, self.running_var) if tracked else (None, None)
        affine = (self.weight, self.bias)
        return F.batch_norm(input, *running, *affine, use_batch, factor, self.eps)

    _shown = "eps", "momentum", "affine", "bias", "track_running_stats"
    extra_repr = stored(*_shown, plain="num_features")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        # Files from before the counter existed (version 1) lack it; torch keeps the present value
        # then.
        key = prefix + "num_batches_tracked"
        if (
            (local_metadata.get("version") or 1) < 2
            and self.track_running_stats
            and key not in state_dict
        ):
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


_family(
    globals(),
    _BatchNorm,
    "BatchNorm",
    "Batch normalisation over [N, C, {shape}]; that of one dimension takes [N, C], too.",
    _dims=lambda n: (2, 3) if n == 1 else (n + 2,),
)


class LayerNorm(_Affine):
    """Normalises over the last dimensions, `normalized_shape`."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None,
                 dtype=None):  # fmt: skip
        super().__init__()
        shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self._add_affine(shape, elementwise_affine, bias, device=device, dtype=dtype)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    extra_repr = stored("eps", "elementwise_affine", "bias", plain="normalized_shape")


class GroupNorm(_Affine):
    """Normalises over groups of channels of [N, C, ...]."""

    def __init__(
        self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self._add_affine(num_channels, affine, bias, device=device, dtype=dtype)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    extra_repr = stored("eps", "affine", "bias", plain="num_groups num_channels")


class SyncBatchNorm(_BatchNorm):
    """BatchNorm over any number of positions, in training with the statistics of the batches of all
    ranks of a group."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 process_group=None, device=None, dtype=None, *, bias=True):  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):
        from . import _synchronized  # where there is a group

        self._check_input_dim(input)
        if not self.training or not _synchronized.shares(self.process_group):
            return super().forward(input)
        if self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        return _synchronized.batch_norm(self, input)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """`module` with every batch norm in it replaced by one of these, sharing its tensors."""
        made = module
        if isinstance(module, _BatchNorm) and module._dims and not hasattr(module, "process_group"):
            kind = (module.affine, module.track_running_stats, process_group)
            made = cls(module.num_features, module.eps, module.momentum, *kind)
            made.weight, made.bias = module.weight, module.bias
            for name in "running_mean", "running_var", "num_batches_tracked":
                setattr(made, name, getattr(module, name))
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
