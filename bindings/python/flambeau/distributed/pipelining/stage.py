"""`PipelineStage`: a rank's part of a model, what it keeps of each part of a batch between forward
and backward, and the transfers with the stages beside it. What a stage sends is told before the
first part, and has to stay: then both sides know the transfers of each part by themselves."""

from ..._tensor import Tensor
from ..._torch import empty, zeros_like
from ..._types import device as device_type
from ...autograd import backward, enable_grad, no_grad
from .._group import group_of
from .._objects import recv_object_list, send_object_list
from .._pairs import P2POp, irecv, isend

__all__ = ["PipelineStage"]


class PipelineStage:
    """Stage `stage_index` of `num_stages`, which is rank `stage_index` of the group. The module's
    inputs are the stage's before, and its outputs a tensor or a tuple of them."""

    def __init__(self, submodule, stage_index, num_stages, device, input_args=None,
                 output_args=None, group=None, dw_builder=None):  # fmt: skip
        self.group = group_of(group, "PipelineStage")
        if dw_builder is not None:
            raise NotImplementedError("PipelineStage: dw_builder is unsupported")
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        if num_stages != self.group.size() or stage_index != self.group.rank():
            raise NotImplementedError(
                f"PipelineStage: stage {stage_index} of {num_stages} on rank {self.group.rank()} "
                f"of {self.group.size()} is unsupported; each rank has the one stage of its number"
            )
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device = device_type(device)
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        # By whether backward follows: (shape, dtype, whether there is a gradient) of each tensor.
        self._came, self._went = {}, {}
        self._kept = {}  # by part of a batch: (inputs, outputs)
        self._gradients = {}  # by part of a batch, as they came

    # ---- transfers of a part of a batch, as lists of P2POp

    def forward_receives(self, index, training):
        """Of the stage's inputs."""
        if self.is_first:
            return []
        if training not in self._came:
            told = [None]
            recv_object_list(told, group=self.group, group_src=self.stage_index - 1)
            self._came[training] = told[0]
        kinds = self._came[training]
        inputs = [empty(*shape, dtype=kind, device=self.device) for shape, kind, _ in kinds]
        self._kept[index] = [t.requires_grad_(k[2]) for t, k in zip(inputs, kinds)], ()
        return self._all(irecv, [t.detach() for t in inputs], -1)

    def forward_sends(self, index, training):
        """Of its outputs."""
        if self.is_last:
            return []
        outputs = self._kept[index][1]
        kinds = [(tuple(t.shape), t.dtype, t.requires_grad) for t in outputs]
        if training not in self._went:
            send_object_list([kinds], group=self.group, group_dst=self.stage_index + 1)
            self._went[training] = kinds
        if kinds != self._went[training]:
            raise ValueError(
                f"PipelineStage: the outputs of stage {self.stage_index} are {kinds}, and were "
                f"{self._went[training]} before; they cannot change between batches and parts"
            )
        return self._all(isend, [t.detach().contiguous() for t in outputs], 1)

    def backward_receives(self, index):
        """Of the gradients of its outputs."""
        if self.is_last:
            return []
        outputs = [t for t in self._kept[index][1] if t.requires_grad]
        self._gradients[index] = [zeros_like(t.detach()).contiguous() for t in outputs]
        return self._all(irecv, self._gradients[index], 1)

    def backward_sends(self, index):
        """Of the gradients of its inputs; the part of the batch is done with then."""
        inputs, _ = self._kept.pop(index)
        if self.is_first:
            return []
        needed = [t for t in inputs if t.requires_grad]
        given = [zeros_like(t.detach()) if t.grad is None else t.grad for t in needed]
        return self._all(isend, [t.contiguous() for t in given], -1)

    def _all(self, op, tensors, step):
        peer = self.stage_index + step
        return [P2POp(op, t, group=self.group, group_peer=peer) for t in tensors]

    # ---- computing

    def forward(self, index, args, kwargs, training):
        """The module's output for a part: of `args` where it is the first stage."""
        inputs = list(args) if self.is_first else self._kept[index][0]
        with enable_grad() if training else no_grad():
            result = self.submod(*inputs, **kwargs)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        if not self.is_last and not all(isinstance(t, Tensor) for t in outputs):
            kinds = [type(t).__name__ for t in outputs]
            raise TypeError(f"a stage's outputs are a tensor or a tuple of them, got {kinds}")
        self._kept[index] = inputs, outputs
        return result

    def backward(self, index, loss):
        """Gradients of the parameters, which add up, and of the stage's inputs."""
        if self.is_last:
            loss.backward()
            return
        outputs = [t for t in self._kept[index][1] if t.requires_grad]
        gradients = self._gradients.pop(index)
        if outputs:
            backward(outputs, gradients)

    def clear(self):
        """Forgets what is left of a batch."""
        self._kept.clear()
        self._gradients.clear()

    def scale_grads(self, grad_scale_factor):
        """Divides the parameters' gradients."""
        for p in self.submod.parameters():
            if p.grad is not None and grad_scale_factor != 1:
                p.grad.div_(grad_scale_factor)
