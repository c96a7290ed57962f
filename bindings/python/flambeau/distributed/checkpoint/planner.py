"""`torch.distributed.checkpoint.planner`: the classes that planners descend from. `save` and `load`
take those of `default_planner`, and classes of a program that override none of their methods."""

__all__ = ["LoadPlanner", "SavePlanner"]


class SavePlanner:
    """What is saved of a state dict."""


class LoadPlanner:
    """What is loaded into a state dict."""
