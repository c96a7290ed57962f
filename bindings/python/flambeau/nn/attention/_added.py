"""What a function of scores adds to them, found by giving it a score that can be added to and
nothing else. A function that does anything else has no such tensor, and is called with the
scores."""

from numbers import Number

from ... import _torch as torch


class _Score:
    """A score that nothing is known of, and what was added to it."""

    def __init__(self, added=0):
        self.added = added

    def __add__(self, other):
        if not isinstance(other, (torch.Tensor, Number)):
            return NotImplemented
        return _Score(self.added + other)

    __radd__ = __add__

    def __sub__(self, other):
        return self + -other


def added_by(score_mod, at):
    """The tensor that `score_mod` adds at the places `at`, or None where it does more."""
    try:
        found = score_mod(_Score(), *at)
    except Exception:  # what it does, the call with the scores shows
        return None
    if not isinstance(found, _Score):
        return None
    return torch.as_tensor(found.added, device=at[0].device)
