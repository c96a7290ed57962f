"""Which values of a state dict are saved and loaded, as options. What torch's planners decide
besides, by methods that a program overrides, is decided by the format here, so a planner with one
of those methods is refused where it is to be used: it would be ignored otherwise."""

from ... import _refused
from ..._errors import UnsupportedError
from .planner import LoadPlanner, SavePlanner

_PLANS = (
    "create_default_global_load_plan create_default_global_save_plan "
    "create_default_local_load_plan create_default_local_save_plan"
)
__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", *_PLANS.split()]
globals().update(
    _refused.names(
        "torch.distributed.checkpoint.default_planner",
        _PLANS,
        "which rank writes and reads which bytes is planned by save and load, and not by a program",
    )
)

_METHODS = (
    "set_up_planner create_local_plan create_global_plan finish_plan resolve_data transform_object "
    "lookup_object load_bytes resolve_bytes resolve_tensor commit_tensor lookup_tensor "
    "transform_tensor"
).split()


def _refuse_methods(planner):
    """Says which method of a program would be ignored."""
    for name in _METHODS:
        for cls in type(planner).__mro__:
            if name in vars(cls):
                raise UnsupportedError(
                    f"{cls.__name__}.{name}: planners of programs are unsupported; change the "
                    "state dict before it is saved or after it is loaded"
                )


class DefaultSavePlanner(SavePlanner):
    """`flatten_state_dict`: tensors in nested dictionaries and lists are saved by themselves, under
    names such as `optimizer.state.0.exp_avg`. What ranks hold alike is always written once, spread
    over them by bytes."""

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True,
                 dedup_replicated_tensors=None, dedup_save_to_lowest_rank=False,
                 enable_plan_caching=False):  # fmt: skip
        self.flatten_state_dict, self.lowest = flatten_state_dict, dedup_save_to_lowest_rank


class DefaultLoadPlanner(LoadPlanner):
    """`allow_partial_load`: names that the checkpoint lacks keep their values."""

    makes = False  # what is loaded, where there is nothing to load into

    def __init__(
        self, flatten_state_dict=True, flatten_sharded_tensors=True, allow_partial_load=False
    ):
        self.flatten_state_dict = flatten_state_dict
        self.allow_partial_load = allow_partial_load


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads into an empty dictionary what the checkpoint holds, every tensor whole and in the
    host's memory: all of it, or what lies at or below `keys`."""

    makes = True

    def __init__(self, keys=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.keys = {keys} if isinstance(keys, str) else keys

    def keeps(self, path):
        """Whether the value at a path is asked for."""
        names = [str(step) for step in path]
        begins = (".".join(names[:n]) for n in range(1, len(names) + 1))
        return self.keys is None or any(begin in self.keys for begin in begins)


def checked(planner, kind, what):
    """The planner, or a new one; an error for what is none of ours."""
    if planner is None:
        return kind()
    if not isinstance(planner, kind):
        raise UnsupportedError(
            f"{what}: a planner of type {type(planner).__name__} is unsupported; give a "
            f"{kind.__name__}"
        )
    _refuse_methods(planner)
    return planner
