"""Options of `linear_cross_entropy`; a file of its own, since few programs import dataclasses."""

import dataclasses

from ._linear_cross_entropy import chunk_divisor

_POLICIES = "auto", "accurate", "compact"


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How many rows have logits at a time. Products accumulate in float32 or better whatever the
    policy, and graphs may be retained."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None

    def __post_init__(self):
        if self.acc_policy not in _POLICIES:
            raise ValueError(
                f"invalid acc_policy: {self.acc_policy!r}; expected one of "
                f"{', '.join(map(repr, _POLICIES))}"
            )
        chunk_divisor(self.chunking_method)
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
