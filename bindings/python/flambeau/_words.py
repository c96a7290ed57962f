"""Functions that torch spells with other names of parameters than C, which has one name for a
thing: both are taken, torch's by keyword."""

import functools

from ._gen import ops
from ._tensor import Tensor

_MATRIX, _TRAIN = {"input": "A"}, {"train": "training"}
_WORDS = {
    **dict.fromkeys("det inverse logdet matrix_power slogdet".split(), _MATRIX),
    **dict.fromkeys("alpha_dropout dropout feature_alpha_dropout feature_dropout".split(), _TRAIN),
    "cholesky_inverse": {"input": "L"},
    "cholesky_solve": {"input": "B", "input2": "L"},
    "isin": {"element": "elements", "test_element": "test_elements"},
    "orgqr": {"input2": "tau"},
    "ormqr": {"input2": "tau", "input3": "other"},
    "split_with_sizes": {"input": "tensor"},
}


def _worded(plain, words):
    @functools.wraps(plain)
    def call(*args, **named):
        for word in named and named.keys() & words.keys():
            if words[word] in named:
                raise TypeError(f"{plain.__name__}() got both {word!r} and {words[word]!r}")
            named[words[word]] = named.pop(word)
        return plain(*args, **named)

    return call


FUNCTIONS = {
    name: _worded(ops.TORCH[name], words)
    for base, words in _WORDS.items()
    for name in (base, f"{base}_")
    if name in ops.TORCH
}
for _name in FUNCTIONS.keys() & ops.TENSOR.keys():
    setattr(Tensor, _name, FUNCTIONS[_name])
