"""Tuples of options, one per spatial dimension, as modules of a program's own ask for them."""

from collections.abc import Iterable


def _ntuple(n, name="parse"):
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """Every element `n` times, the last first: a padding as `F.pad` takes it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes `prefix`, such as "module." of DistributedDataParallel, off the names of a state."""
    for names, end in (state_dict, ""), (getattr(state_dict, "_metadata", {}), "."):
        for name in [n for n in names if (n + end).startswith(prefix)]:
            names[name[len(prefix) :]] = names.pop(name)


def _family(namespace, base, name, text, dims=(1, 2, 3), **members):
    """Adds the classes over one to three dimensions to a file's names, as `Conv1d` to `Conv3d`:
    what each has is a function of the number of dimensions, and the text may name their
    `{shape}`."""
    for n in dims:
        own = {key: of(n) for key, of in {"_n": lambda n: n, **members}.items()}
        shape = ", ".join("DHW"[3 - n :]) if n > 1 else "L"
        own.update(__module__=namespace["__name__"], __doc__=text.format(n=n, shape=shape))
        namespace[f"{name}{n}d"] = type(f"{name}{n}d", (base,), own)
