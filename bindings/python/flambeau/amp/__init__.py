"""Automatic mixed precision: not part of this version; its names say so when they are used."""


def _refused(name):
    def __init__(self, *args, **kwargs):
        if kwargs.get("enabled", True):
            raise NotImplementedError(
                f"torch.amp.{name}: mixed precision is not in this version of flambeau; use "
                f"{name}(enabled=False), or train in float32"
            )

    def same(self, *args, **kwargs):
        return None

    return type(name, (), {"__init__": __init__, "__enter__": lambda self: self, "__exit__": same})


autocast = _refused("autocast")


class GradScaler(_refused("GradScaler")):
    """Only `GradScaler(enabled=False)` can be made: it scales by 1."""

    def scale(self, outputs):
        return outputs

    def unscale_(self, optimizer):
        return None

    def step(self, optimizer, *args, **kwargs):
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        return None

    def get_scale(self):
        return 1.0

    def is_enabled(self):
        return False

    def state_dict(self):
        return {}

    def load_state_dict(self, state_dict):
        return None
