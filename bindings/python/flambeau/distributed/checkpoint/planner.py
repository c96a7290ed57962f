"""`torch.distributed.checkpoint.planner`: the classes that planners descend from. `save` and `load`
take those of `default_planner`, and classes of a program that override none of their methods."""

from ... import _refused

_ITEMS = (
    "BytesIOWriteData LoadItemType LoadPlan ReadItem SavePlan TensorWriteData WriteItem "
    "WriteItemType"
)
__all__ = ["LoadPlanner", "SavePlanner", *_ITEMS.split()]
globals().update(
    _refused.names(
        "torch.distributed.checkpoint.planner",
        _ITEMS,
        "which rank writes and reads which bytes is planned by save and load, and not by a program",
    )
)


class SavePlanner:
    """What is saved of a state dict."""


class LoadPlanner:
    """What is loaded into a state dict."""
