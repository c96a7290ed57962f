"""Which modules `FullyShardedDataParallel` gives parameters of their own: policies are functions of
a module, of whether it is asked to go on below it, and of its elements that no module below has.
And `wrap`, by which a program says it itself."""

import contextlib

from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.multihead import MultiheadAttention
from ._fully_shard import fully_shard, state_of


class ModuleWrapPolicy:
    """Modules of these classes."""

    def __init__(self, module_classes):
        self._module_classes = set(module_classes)

    def __call__(self, module, recurse, *args, **kwargs):
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self):
        return f"ModuleWrapPolicy({self._module_classes})"


def always_wrap_policy(*args, **kwargs):
    """Every module."""
    return True


def lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, lambda_fn):
    """Modules of which `lambda_fn(module)` says so."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls):
    """Modules of these classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


_CONTAINERS, _WHOLE = frozenset((ModuleList, ModuleDict)), frozenset((MultiheadAttention,))


def size_based_auto_wrap_policy(module, recurse, nonwrapped_numel, min_num_params=int(1e8),
                                force_leaf_modules=None, exclude_wrap_modules=None):  # fmt: skip
    """Modules with at least so many elements; containers and the parts of attention have none."""
    excluded = _CONTAINERS if exclude_wrap_modules is None else exclude_wrap_modules
    leaves = _WHOLE if force_leaf_modules is None else force_leaf_modules
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else excluded))


class CustomPolicy:
    """Modules of which `lambda_fn(module)` says so."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def __call__(self, module, recurse, *args, **kwargs):
        if recurse:
            return True
        found = self._lambda_fn(module)
        if not isinstance(found, (bool, dict)):
            raise ValueError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, "
                f"but it returned {found}"
            )
        if found and isinstance(found, dict):
            raise NotImplementedError(
                "CustomPolicy: options of single modules are unsupported; return True, or give "
                f"{type(module).__name__} to FullyShardedDataParallel with {found} beforehand"
            )
        return bool(found)


def _or_policy(module, recurse, nonwrapped_numel, policies):
    """Modules of which one of several policies says so."""
    asked = {"module": module, "recurse": recurse, "nonwrapped_numel": nonwrapped_numel}
    return any(policy(**asked) for policy in policies)


_wrapping = []  # the class and options of the block that a program is in


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls, **wrapper_kwargs):
    """A block in which `wrap` wraps modules in this class with these options."""
    if _wrapping:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested "
            "autowrap."
        )
    _wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.clear()


def wrap(module, **wrap_overrides):
    """The module, wrapped as the `enable_wrap` block around says; itself outside of one."""
    if not _wrapping:
        return module
    cls, options = _wrapping[0]
    return cls(module, **{**options, **wrap_overrides})


def shard_below(module, policy, ignored, **options):
    """Gives modules below this one to `fully_shard` as the policy says, from the leaves up."""
    _shard(module, policy, ignored, options, True)


def _own(module, ignored):
    """Elements that no module below was given to `fully_shard` with."""
    if state_of(module) is not None:
        return 0
    own = sum(p.numel() for p in module._parameters.values() if p is not None and p not in ignored)
    return own + sum(_own(child, ignored) for child in module.children())


def _shard(module, policy, ignored, options, outermost):
    if state_of(module) is not None:  # a module that has several places
        return
    if not policy(module=module, recurse=True, nonwrapped_numel=_own(module, ignored)):
        return
    for child in module.children():
        _shard(child, policy, ignored, options, False)
    rest = _own(module, ignored)
    if not outermost and policy(module=module, recurse=False, nonwrapped_numel=rest):
        fully_shard(module, ignored_params=ignored, **options)
