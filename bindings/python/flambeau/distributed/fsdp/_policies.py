"""What `fully_shard` is told of dtypes and of where parts of parameters are kept."""

from dataclasses import dataclass

from ..._types import dtype


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes: of gathered parameters and with them of forward and backward, of the reduction of
    gradients, and of what forward returns; None leaves a dtype as it is. Parts, their gradients and
    the optimizer keep that of the parameter."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parts of parameters, gradients and optimizer state are on the mesh's device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """They are in host memory, page-locked if asked, and so the optimizer steps on the CPU."""

    pin_memory: bool = True
