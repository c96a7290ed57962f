"""Distances between vectors."""

import numpy as np

from tests.harness.table import op, x

KW = dict(elementwise=False, ulp=4, atol={"float16": 2e-2, "bfloat16": 0.15})


def cosine_similarity(a, b, dim=1, eps=1e-8):
    a, b = np.broadcast_arrays(a, b)
    sizes = [np.maximum(np.sqrt((v * v).sum(dim)), eps) for v in (a, b)]
    return (a * b).sum(dim) / sizes[0] / sizes[1]


op(
    "cosine_similarity",
    ref=cosine_similarity,
    samples=[(x(3, 4), x(3, 4)), (x(2, 3, 4), x(3, 4)), (x(2, 3), x(1, 3)), (x(2, 0), x(2, 0))],
    options=[dict(dim=0), dict(dim=-1), dict(eps=9.0)],
    big=[(x(300, 300), x(300, 300))],
    refuses=[
        ((x(3, 4), x(3, 5)), {}, "do not broadcast|must match"),
        ((x(3, 4), x(3, 4)), dict(dim=2), "[Dd]imension out of range"),
    ],
    bad={"int64": "common dtype"},
    **KW,
)


def pairwise_distance(a, b, p=2.0, eps=1e-6, keepdim=False):
    apart = np.abs(a - b + eps)
    if p == np.inf:
        return apart.max(-1, keepdims=keepdim)
    return (apart**p).sum(-1, keepdims=keepdim) ** (1 / p)


op(
    "pairwise_distance",
    ref=pairwise_distance,
    samples=[(x(3, 4), x(3, 4)), (x(2, 3, 4), x(3, 4)), (x(4), x(3, 4)), (x(0, 3), x(0, 3))],
    options=[dict(p=1.0), dict(p=3.0, eps=0.1), dict(p=float("inf")), dict(keepdim=True)],
    big=[(x(300, 300), x(300, 300))],
    refuses=[((x(3, 4), x(3, 5)), {}, "do not broadcast|must match")],
    **KW,
)


def pairs_of_rows(a, p=2.0):
    first, second = np.triu_indices(len(a), 1)
    return np.linalg.norm(a[first] - a[second], p, axis=-1)


op(
    "pdist",
    ref=pairs_of_rows,
    samples=[x(5, 3), x(1, 3)],
    options=[dict(p=1.0), dict(p=3.0), dict(p=float("inf"))],
    refuses=[(x(3), {}, "only supports 2D"), (x(3, 2), dict(p=-1.0), "non-negative")],
    bad={"int64": "floating-point"},
    **KW,
)
