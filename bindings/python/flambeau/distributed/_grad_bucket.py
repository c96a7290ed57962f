"""What communication hooks of DistributedDataParallel see: a bucket of gradients."""

import enum

from .._gen import api


class BuiltinCommHookType(enum.Enum):
    """Hooks that the library has itself."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1
    BF16_COMPRESS = 2


class GradBucket:
    """Gradients that are reduced together, flat in one tensor."""

    def __init__(self, ddp, index):
        self._ddp, self._index = ddp, index

    def index(self):
        """From 0, in the order of reduction."""
        return self._index

    def is_last(self):
        """Whether no other is reduced after it."""
        return self._index == api.ddp_bucket_count(self._ddp) - 1

    def buffer(self):
        """The gradients, flat."""
        return api.ddp_bucket_buffer(self._ddp, self._index)

    def set_buffer(self, buffer):
        """Puts another tensor in the place of the flat one."""
        api.ddp_bucket_set_buffer(self._ddp, self._index, buffer)

    def gradients(self):
        """The gradients as views of the flat tensor, in the shapes of their parameters."""
        return list(api.ddp_bucket_gradients(self._ddp, self._index))

    def parameters(self):
        """The parameters whose gradients these are."""
        return list(api.ddp_bucket_parameters(self._ddp, self._index))
