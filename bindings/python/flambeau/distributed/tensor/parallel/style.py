"""How a module is laid over the ranks of a mesh: by columns, by rows, or with its input cut along
the sequence; and how inputs and outputs of other modules lie."""

from types import MethodType

from ...._tensor import Tensor
from ....nn.parameter import Parameter
from ..._placements import Partial, Placement, Replicate, Shard
from .._distribute import distribute_tensor
from .._dtensor import DTensor
from ._layers import by_columns, by_rows, check, local, summed


def _runs(module, forward):
    """Gives a module another forward, as a method: a copy of the module has it of its own."""
    module.forward = MethodType(forward, module)


def _forward_of(module):
    """What the module has for its forward, as a function of it or of a copy."""
    now = module.forward
    return now.__func__ if getattr(now, "__self__", None) is module else lambda _, x: now(x)


class ParallelStyle:
    """Base of the styles."""

    src_data_rank = 0

    def _apply(self, module, device_mesh):
        raise NotImplementedError


def laid(value, mesh, layout, wanted):
    """A tensor that lies as `layout`, unless it says itself how it does, as `wanted`."""
    if not isinstance(value, Tensor):
        return value
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, [layout])
    return value.redistribute(placements=[wanted])


def _as_asked(value, use_local):
    return local(value) if use_local else value


def _shard(module, mesh, placements, src):
    """The module's parameters as DTensors."""
    for name, p in list(module._parameters.items()):
        if p is not None:
            placed = placements.get(name, Replicate())
            whole = distribute_tensor(p.detach(), mesh, [placed], src_data_rank=src)
            module._parameters[name] = Parameter(whole, p.requires_grad)


class _LayerParallel(ParallelStyle):
    """A layer with parts of its weight."""

    def __init__(self, input_layouts, output_layouts, use_local_output):
        self.input_layouts, self.output_layouts = input_layouts, output_layouts
        self.use_local_output = use_local_output

    def _apply(self, module, device_mesh):
        check(module, type(self).__name__)
        embeds = hasattr(module, "num_embeddings")
        _shard(module, device_mesh, self._parts(embeds), self.src_data_rank)
        _runs(module, lambda module, x: self._run(module, x, device_mesh, embeds))
        return module

    def _out(self, found, mesh, layout):
        found = laid(found, mesh, layout, _front(self.output_layouts, found.dim()))
        return found


def _front(layout, n_dims):
    """A placement whose dimension counts from the front."""
    return Shard(layout.dim % n_dims) if layout.is_shard() else layout


class ColwiseParallel(_LayerParallel):
    """Each rank has columns of the output: rows of a Linear's weight, columns of an Embedding's."""

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        super().__init__(
            input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output
        )

    @staticmethod
    def _parts(embeds):
        return {"weight": Shard(1)} if embeds else {"weight": Shard(0), "bias": Shard(0)}

    def _run(self, module, x, mesh, embeds):
        x = local(laid(x, mesh, _front(self.input_layouts, x.dim()), Replicate()))
        found = by_columns(module, x, mesh)
        columns = module.weight.shape[1 if embeds else 0]
        shape = (*found.shape[:-1], columns)
        found = DTensor.from_local(found, mesh, [Shard(found.dim() - 1)], shape=shape)
        return _as_asked(self._out(found, mesh, None), self.use_local_output)


class RowwiseParallel(_LayerParallel):
    """Each rank has columns of the input: columns of a Linear's weight, rows of an Embedding's; the
    outputs are terms of a sum."""

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        super().__init__(input_layouts, output_layouts or Replicate(), use_local_output)

    @staticmethod
    def _parts(embeds):
        return {"weight": Shard(0)} if embeds else {"weight": Shard(1)}

    def _run(self, module, x, mesh, embeds):
        given = self.input_layouts or (Replicate() if embeds else Shard(-1))
        if not isinstance(x, DTensor):
            x = self._from_local(x, mesh, _front(given, x.dim()), module, embeds)
        wanted = Replicate() if embeds else Shard(x.dim() - 1)
        x = local(x.redistribute(placements=[wanted]))
        found = self._out(by_rows(module, x, mesh), mesh, Partial())
        bias = getattr(module, "bias", None)
        if bias is not None:
            cut, own = found.placements[0].is_shard(), local(found)
            bias = summed(local(bias), mesh) if cut else local(bias)
            if cut and found.placements[0].dim == own.dim() - 1:
                first = found._layout.local()[1][-1]
                bias = bias.narrow(0, first, own.shape[-1])
            own = own + bias
            found = found._with_local(own)
        return _as_asked(found, self.use_local_output)

    @staticmethod
    def _from_local(x, mesh, given, module, embeds):
        shape = None
        if not embeds and given.is_shard(x.dim() - 1):
            shape = (*x.shape[:-1], module.weight.shape[1])
        return DTensor.from_local(x, mesh, [given], shape=shape)


class SequenceParallel(ParallelStyle):
    """A module that treats each token by itself, such as a norm or dropout: each rank has tokens of
    the input, and the whole parameters."""

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module, device_mesh):
        _shard(module, device_mesh, {}, self.src_data_rank)
        run, mesh, d = _forward_of(module), device_mesh, self.sequence_dim

        def forward(module, x):
            x = laid(x, mesh, Shard(d), Shard(d))
            held = dict(module._parameters)
            try:
                for name, p in held.items():
                    module._parameters[name] = summed(local(p), mesh)
                found = run(module, local(x))
            finally:
                module._parameters.update(held)
            return _as_asked(x._with_local(found, shape=_like(x, found, d)), self.use_local_output)

        _runs(module, forward)
        return module


def _like(x, found, d):
    """The whole shape of a result of which this rank has tokens."""
    shape = list(found.shape)
    shape[d] = x.shape[d]
    return shape


def _each(values, layouts, wanted, mesh, use_local):
    """Tensors as they are wanted; those without a layout as they are."""
    one = not isinstance(values, tuple)
    values = (values,) if one else values
    layouts, wanted = (
        (v,) if isinstance(v, Placement) or v is None else tuple(v) for v in (layouts, wanted)
    )
    if not len(values) == len(layouts) == len(wanted):
        raise ValueError(
            "module inputs and input_layouts should have same length! got "
            f"{len(values)} tensors, {len(layouts)} layouts and {len(wanted)} desired ones"
        )
    found = tuple(
        v if a is None or not isinstance(v, Tensor) else _as_asked(laid(v, mesh, a, b), use_local)
        for v, a, b in zip(values, layouts, wanted)
    )
    return found[0] if one else found


class PrepareModuleInput(ParallelStyle):
    """How a module's inputs lie, and how it wants them."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None,
                 desired_input_kwarg_layouts=None, use_local_output=False):  # fmt: skip
        self.input_layouts, self.desired_input_layouts = input_layouts, desired_input_layouts
        self.by_name = input_kwarg_layouts or {}
        self.wanted_by_name = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output

    def _apply(self, module, device_mesh):
        def prepare(module, args, kwargs):
            how = device_mesh, self.use_local_output
            if self.input_layouts is not None:
                args = _each(args, self.input_layouts, self.desired_input_layouts, *how)
            kwargs = dict(kwargs)
            for name, layout in self.by_name.items():
                if name in kwargs:
                    kwargs[name] = _each(kwargs[name], layout, self.wanted_by_name[name], *how)
            return args, kwargs

        module.register_forward_pre_hook(prepare, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """How a module's outputs lie, and how they are wanted."""

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        self.layouts, self.wanted = output_layouts, desired_output_layouts
        self.use_local_output = use_local_output

    def _apply(self, module, device_mesh):
        def prepare(module, args, found):
            return _each(found, self.layouts, self.wanted, device_mesh, self.use_local_output)

        module.register_forward_hook(prepare)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None,
                 desired_input_kwarg_layouts=None, use_local_input=False, output_layouts,
                 desired_output_layouts, use_local_output=True):  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module, device_mesh):
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)
