"""`unique` and `unique_consecutive`: what they return depends on what is asked for."""

from ._gen import api


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements of `input`, or its different slices along `dim`, in ascending order;
    with `return_inverse` also where each element went, with `return_counts` how often each occurs.

    `sorted` is accepted; the result is in order either way."""
    return _shown(api.unique(input, dim, return_inverse, return_counts))


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """`input` without the elements, or slices along `dim`, that equal the one before them."""
    return _shown(api.unique_consecutive(input, dim, return_inverse, return_counts))


def _shown(results):
    return results[0] if len(results) == 1 else results
