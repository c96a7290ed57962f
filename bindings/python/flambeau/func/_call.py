"""A module called with other parameters and buffers than its own, which stay as they are."""

import contextlib

from .._tensor import Tensor
from ..nn.parameter import Parameter


def _given(dicts):
    """One dictionary of what may come as several."""
    if isinstance(dicts, dict):
        return dict(dicts)
    if not isinstance(dicts, (tuple, list)) or not all(isinstance(d, dict) for d in dicts):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(dicts)}"
        )
    keys = [k for d in dicts for k in d]
    repeated = sorted({k for k in keys if keys.count(k) > 1})
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {k: v for d in dicts for k, v in d.items()}


def _names(module):
    """Every name of every parameter and buffer, those of shared ones too."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _with_ties(own, values):
    """Values for the other names of tensors that the module uses under several."""
    groups = {}
    for name, tensor in own.items():
        groups.setdefault(id(tensor), []).append(name)
    found = dict(values)
    for names in groups.values():
        given = [n for n in names if n in values]
        if len({id(values[n]) for n in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        found.update(dict.fromkeys(names, values[given[0]]) if given else {})
    return found


def _check_names(module, own, values):
    problems = []
    for what, names in (
        ("Unexpected", [n for n in values if n not in own]),
        ("Missing", [n for n in own if n not in values]),
    ):
        if names:
            problems.append(f"{what} key(s): {', '.join(map(repr, sorted(names)))}.")
    if problems:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems)
        )


_ABSENT = object()


@contextlib.contextmanager
def _replaced(module, values):
    """The module with other tensors in these places."""
    before = []
    try:
        for path, value in values.items():
            if not isinstance(value, Tensor) and value is not None:
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            owner, _, name = path.rpartition(".")
            holder = module.get_submodule(owner)
            for group in (holder._parameters, holder._buffers):
                if name in group:
                    before.append((group, name, group[name], path))
                    group[name] = value
                    break
            else:  # any other name is an attribute for as long as the call takes
                found = getattr(holder, name, None)
                if found is not None and not isinstance(found, Tensor):
                    raise TypeError(
                        f"attribute `{name}`: {found} is not an instance of torch.Tensor"
                    )
                own = holder._parameters if isinstance(value, Parameter) else holder.__dict__
                before.append((own, name, own.get(name, _ABSENT), path))
                own[name] = value
        yield
    finally:
        for group, name, tensor, path in reversed(before):
            if path in values:
                values[path] = group[name]
            if tensor is _ABSENT:
                del group[name]
            else:
                group[name] = tensor


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """`module(*args, **kwargs)` with tensors of a dictionary, or several, in the place of its
    parameters and buffers of those names. What the module assigns to them shows in the dictionary
    where there is one."""
    from ..nn import DataParallel

    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    values = _given(parameter_and_buffer_dicts)
    own = _names(module) if tie_weights or strict else {}
    filled = _with_ties(own, values) if tie_weights else dict(values)
    if strict:
        _check_names(module, own, filled)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, filled):
        result = module(*args, **(kwargs or {}))
        now = {p: _read(module, p) for p in values}
    if isinstance(parameter_and_buffer_dicts, dict):
        parameter_and_buffer_dicts.update(now)
    return result


def _read(module, path):
    owner, _, name = path.rpartition(".")
    return getattr(module.get_submodule(owner), name)
