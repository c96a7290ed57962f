"""Names of `torch.distributed` that stand for what a group of this library does not do."""

from .. import _refused

_WHY = {
    "get_backend_impl": "a group's backend has no object of its own",
    "record_comm": "collectives are shown in profiles by their own names; "
    "torch.profiler.record_function names a block of them",
    "shrink_group": "ranks that are left make another group by new_group, or start again by "
    "--max-restarts",
}
__all__ = [*_WHY]
for _name, _why in _WHY.items():
    globals()[_name] = _refused.function("torch.distributed", _name, _why)
