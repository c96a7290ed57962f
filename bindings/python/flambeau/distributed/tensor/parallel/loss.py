"""`loss_parallel`: cross entropy of logits of which each rank has some classes. They are never
gathered: the ranks agree on each row's maximum, the sum of exponentials and the target's logit."""

from contextlib import contextmanager

from .._rules import Implicit


@contextmanager
def loss_parallel():
    """Within, `cross_entropy` of a DTensor takes a plain target, which is alike on every rank.
    Losses of logits that lie as `Shard` along the classes are computed by parts."""
    Implicit.losses += 1
    try:
        yield
    finally:
        Implicit.losses -= 1
