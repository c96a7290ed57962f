"""`PipelineStage`: a rank's part of a model, what it keeps of each part of a batch between forward
and backward, and the transfers with the stages beside it. What a stage sends is told before a
schedule's first part, and has to stay: then both sides know the transfers of each part by
themselves. Another schedule of the same stage may have parts of another size."""

from ... import _refused
from ..._tensor import Tensor
from ..._torch import empty, zeros_like
from ..._types import device as device_type
from ...autograd import backward, enable_grad, no_grad
from .._group import member_of
from .._objects import recv_object_list, send_object_list
from .._pairs import P2POp, irecv, isend
from ._copies import Copies

_NAMES = "PipelineStageInfo build_stage"
_WHY = (
    "models are not traced, and no stage tells its module which part it computes; give each rank \
its part as PipelineStage(module, index, count, device)"
)
__all__ = ["PipelineStage", *_NAMES.split()]
globals().update(_refused.names("torch.distributed.pipelining", _NAMES, _WHY))


class Told:
    """What a schedule moves with each part: (shape, dtype, whether there is a gradient) of each
    tensor that comes from the stage before and that goes to the next, None until it is told."""

    came = went = None


class PipelineStage:
    """Stage `stage_index` of `num_stages`, which are dealt to the ranks of the group by turns. The
    module's inputs are the outputs of the stage before, a tensor or a tuple of them. Examples of
    inputs, outputs and gradients are not needed: each stage tells the next what it sends."""

    def __init__(self, submodule, stage_index, num_stages, device, input_args=None,
                 output_args=None, output_grads=None, input_grads=None, group=None,
                 dw_builder=None, get_mesh=None):  # fmt: skip
        self.group = member_of(group, "PipelineStage")
        for name, given in (("dw_builder", dw_builder), ("get_mesh", get_mesh)):
            if given is not None:
                raise NotImplementedError(
                    f"PipelineStage: {name} is unsupported; gradients of parameters are computed "
                    "with those of inputs, and stages exchange plain tensors"
                )
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages "
                f"{num_stages}"
            )
        if stage_index % self.group_size != self.group_rank:
            raise NotImplementedError(
                f"PipelineStage: stage {stage_index} on rank {self.group_rank} of "
                f"{self.group_size} is unsupported; stage i is on rank i modulo their number"
            )
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device = device_type(device)
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self._kept = {}  # by part of a batch: (inputs, outputs)
        self._gradients = {}  # by part of a batch, as they came
        self._copies = None  # found for each batch: programs wrap `submod` later, too
        self._failed = None  # where a step ended that did not end well

    def failed_at(self, place):
        """Says that a step has failed on this rank: from then on its transfers and those of the
        other ranks do not fit together."""
        if self.group_size > 1:
            self._failed = place

    def check_goes_on(self):
        """Refuses a step after one that failed."""
        if self._failed is not None:
            raise RuntimeError(
                f"the last step failed at {self._failed}, on this rank, and the others may be "
                "anywhere in it: start the ranks again, from the last checkpoint"
            )

    # ---- transfers of a part of a batch, as lists of P2POp

    def forward_receives(self, index, told):
        """Of the stage's inputs."""
        if self.is_first:
            return []
        if told.came is None:
            given = [None]
            recv_object_list(given, group=self.group, group_src=self._rank_of(-1))
            told.came = given[0]
        kinds = told.came
        inputs = [empty(*shape, dtype=kind, device=self.device) for shape, kind, _ in kinds]
        self._kept[index] = [t.requires_grad_(k[2]) for t, k in zip(inputs, kinds)], ()
        return self._all(irecv, [t.detach() for t in inputs], -1)

    def forward_sends(self, index, training, told):
        """Of its outputs; without a backward the part is done with then."""
        if self.is_last:
            return []
        outputs = (self._kept[index] if training else self._kept.pop(index))[1]
        kinds = [(tuple(t.shape), t.dtype, t.requires_grad) for t in outputs]
        if told.went is None:
            send_object_list([kinds], group=self.group, group_dst=self._rank_of(1))
            told.went = kinds
        if kinds != told.went:
            raise ValueError(
                f"PipelineStage: the outputs of stage {self.stage_index} are {kinds}, and were "
                f"{told.went} before; they cannot change between batches and parts of a schedule: "
                "make another schedule for others"
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
        peer = self._rank_of(step)
        return [P2POp(op, t, group=self.group, group_peer=peer) for t in tensors]

    def _rank_of(self, step):
        return (self.stage_index + step) % self.group_size

    # ---- the same without transfers, where the stage beside it is on this rank too

    def made(self, forward, index, training):
        """What the stage has made of a part: outputs, or gradients of its inputs. A part is done
        with after its last pass."""
        if forward:
            return (self._kept[index] if training else self._kept.pop(index))[1]
        return [t.grad for t in self._kept.pop(index)[0] if t.requires_grad]

    def take(self, forward, index, made):
        """Takes that as inputs, or as gradients of the outputs."""
        if forward:
            inputs = [t.detach().requires_grad_(t.requires_grad) for t in made]
            self._kept[index] = inputs, ()
        else:
            needed = [t for t in self._kept[index][1] if t.requires_grad]
            given = [zeros_like(t) if g is None else g for t, g in zip(needed, made)]
            self._gradients[index] = given

    # ---- computing

    def forward(self, index, args, kwargs, training):
        """The module's output for a part: of `args` where it is the first stage."""
        inputs = list(args) if self.is_first else self._kept[index][0]
        if self._copies is None:
            self._copies = Copies(self.submod)
        with enable_grad() if training else no_grad(), self._copies.apart():
            result = self.submod(*inputs, **kwargs)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        if not self.is_last and not all(isinstance(t, Tensor) for t in outputs):
            kinds = [type(t).__name__ for t in outputs]
            raise TypeError(f"a stage's outputs are a tensor or a tuple of them, got {kinds}")
        if training or not self.is_last:
            self._kept[index] = inputs, outputs
        else:
            self._kept.pop(index, None)
        return result

    def backward(self, index, loss, is_last_backward):
        """Gradients of the parameters, which add up, and of the stage's inputs."""
        if is_last_backward:
            self._copies.reduce_next(self._kept[index][1])
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
        self._copies = None

    def scale_grads(self, grad_scale_factor):
        """Divides the parameters' gradients."""
        divide_grads([self], grad_scale_factor)


def divide_grads(stages, by):
    """Divides the gradients of all parameters of stages, which may share some."""
    for p in dict.fromkeys(p for stage in stages for p in stage.submod.parameters()):
        if p.grad is not None and by != 1:
            p.grad.div_(by)
