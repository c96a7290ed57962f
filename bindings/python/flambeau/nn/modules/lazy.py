"""Layers that learn their input's size from the first input. Until then their weights have no
shape; then they keep their identity, are drawn, and the module becomes the layer it stands for."""

from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from . import batchnorm, conv, instancenorm, linear
from ._paths import place
from .module import Module


class LazyModuleMixin:
    """What lazy layers share: the first call, or loading a state dict, gives the missing sizes."""

    cls_to_become = None

    def has_uninitialized_params(self):
        """Whether the first input is still to come."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))

    def initialize_parameters(self, *args, **kwargs):
        """Gives the parameters the sizes that the first call's arguments ask for."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def __call__(self, *args, **kwargs):
        if self.has_uninitialized_params():
            try:
                self.initialize_parameters(*args, **kwargs)
                if self.has_uninitialized_params():
                    raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
            except Exception as problem:
                place(problem, self)
                raise
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become
        return Module.__call__(self, *args, **kwargs)

    def reset_parameters(self):
        """Draws the weights; the layer's own constructor asks for it before there are any."""
        weights = [] if self.has_uninitialized_params() else [*self._parameters.values()]
        if weights and all(w is None or w.numel() for w in weights):
            super().reset_parameters()

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        for group in self._parameters, self._buffers:
            for name, tensor in group.items():
                given = state_dict.get(prefix + name)
                if is_lazy(tensor) and given is not None and not is_lazy(given):
                    tensor.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _materialize(self, **shapes):
        for name, shape in shapes.items():
            tensor = getattr(self, name)
            if is_lazy(tensor):
                tensor.materialize(shape)
        self.reset_parameters()


class LazyLinear(LazyModuleMixin, linear.Linear):
    """Linear whose `in_features` is the size of the first input's last dimension."""

    cls_to_become = linear.Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False, device, dtype)
        kind = {"device": device, "dtype": dtype}
        self.out_features = out_features
        self.weight = UninitializedParameter(**kind)
        if bias:
            self.bias = UninitializedParameter(**kind)

    def initialize_parameters(self, input, *args, **kwargs):
        """Gives the weights the sizes that this input asks for."""
        self.in_features = input.shape[-1]
        self._materialize(weight=(self.out_features, self.in_features), bias=(self.out_features,))


class _LazyConv(LazyModuleMixin):
    def __init__(self, out_channels, kernel_size, *args, bias=True, device=None, dtype=None, **kw):
        kind = {"device": device, "dtype": dtype}
        super().__init__(0, 0, kernel_size, *args, bias=False, **kind, **kw)
        self.in_channels, self.out_channels = 0, out_channels
        self.weight = UninitializedParameter(**kind)
        if bias:
            self.bias = UninitializedParameter(**kind)

    def initialize_parameters(self, input, *args, **kwargs):
        """Gives the weights the sizes that this input asks for."""
        n = len(self.kernel_size)
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        channels = self.in_channels = input.shape[input.dim() - n - 1]
        if channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        rows, columns = self.out_channels, channels
        if self.transposed:
            rows, columns = columns, rows
        self._materialize(
            weight=(rows, columns // self.groups, *self.kernel_size), bias=(self.out_channels,)
        )


class _LazyNorm(LazyModuleMixin):
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None, *, bias=True):  # fmt: skip
        kind = {"device": device, "dtype": dtype}
        super().__init__(0, eps, momentum, affine, track_running_stats, **kind, bias=bias)
        for name in "weight", "bias":
            if getattr(self, name) is not None:
                setattr(self, name, UninitializedParameter(**kind))
        for name in "running_mean", "running_var":
            if getattr(self, name) is not None:
                setattr(self, name, UninitializedBuffer(**kind))

    def initialize_parameters(self, input, *args, **kwargs):
        """Gives the statistics the size that this input asks for."""
        self.num_features = input.shape[1]
        names = "weight", "bias", "running_mean", "running_var"
        self._materialize(**{name: (self.num_features,) for name in names})


def _lazy(base, of):
    """The lazy form of a layer."""
    text = f"{of.__name__} whose number of channels is that of the first input."
    members = {"cls_to_become": of, "__module__": __name__, "__doc__": text}
    return type("Lazy" + of.__name__, (base, of), members)


for _base, _part, _names in (
    (_LazyConv, conv, ("Conv", "ConvTranspose")),
    (_LazyNorm, batchnorm, ("BatchNorm",)),
    (_LazyNorm, instancenorm, ("InstanceNorm",)),
):
    for _name in (f"{name}{n}d" for name in _names for n in (1, 2, 3)):
        globals()[f"Lazy{_name}"] = _lazy(_base, getattr(_part, _name))
