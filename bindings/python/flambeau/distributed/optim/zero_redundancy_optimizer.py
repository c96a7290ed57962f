"""`ZeroRedundancyOptimizer`: each rank steps its share of the parameters and has state for it
alone, then sends it to the others.

The partition is PyTorch's: in every group the largest parameter first, to the rank with the fewest
elements so far. It follows from the shapes, so all ranks make the same one without a word. An
element is stepped once, by the rule and the gradient that every rank has: the result has the bits
of the plain optimizer's."""

from ..._gen import api
from ..._tensor import Tensor
from ..._torch import cat
from ...autograd import enable_grad, no_grad
from ...optim.optimizer import Optimizer
from .._group import member_of
from .._objects import gather_object
from .._place import tell_place
from ..algorithms.join import Join, Joinable, JoinHook


class _StepOfOthers(JoinHook):
    """A rank without data steps its share all the same, which nobody else does, and sends it."""

    def __init__(self, zero):
        self.zero = zero

    def main_hook(self):
        self.zero._step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An `optimizer_class(params, **defaults)` whose state is spread over the ranks of a group;
    gradients must be alike on all of them, as DistributedDataParallel leaves them."""

    def __init__(self, params, optimizer_class, process_group=None,
                 parameters_as_bucket_view=False, overlap_with_ddp=False, **defaults):  # fmt: skip
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True is unsupported; call step() after "
                "backward()"
            )
        self._group = member_of(process_group, "ZeroRedundancyOptimizer")
        self.process_group = self._group
        self.rank, self.world_size = self._group.rank(), self._group.size()
        self._class, self._as_view = optimizer_class, parameters_as_bucket_view
        self.optim, self._gathered = None, []
        if isinstance(params, Tensor):
            raise TypeError(
                "`params` argument should be an iterable of Tensors, but got "
                f"{params.type()}; give a list with it"
            )
        params = list(params)
        if not params:
            raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self.optim = optimizer_class(self._shares()[self.rank], **defaults)
        for name, value in self.optim.defaults.items():
            self.defaults.setdefault(name, value)
        _copy_options(self.optim.param_groups, self.param_groups)
        self._set_buckets()

    # ---- who has what

    def _partition(self):
        """For each rank, for each group, its parameters."""
        sizes = [0] * self.world_size
        found = [[] for _ in sizes]
        for group in self.param_groups:
            for ranks in found:
                ranks.append([])
            for p in sorted(group["params"], key=Tensor.numel, reverse=True):
                rank = sizes.index(min(sizes))
                found[rank][-1].append(p)
                sizes[rank] += p.numel()
        return found

    def _shares(self):
        """The same as groups with all options."""
        return [
            [_with(group, params) for group, params in zip(self.param_groups, groups)]
            for groups in self._partition()
        ]

    def _set_buckets(self):
        """What each rank sends: tensors of one device and dtype together."""
        self._buckets, self._partitioned = [], self._partition()
        self._trainable = self._flags()
        for rank, groups in enumerate(self._partitioned):
            alike = {}
            for p in (p for params in groups for p in params if p.requires_grad):
                alike.setdefault((p.device, p.dtype), []).append(p)
            for params in alike.values():
                self._buckets.append((rank, self._flat(params) if self._as_view else params))

    def _flags(self):
        return [p.requires_grad for group in self.param_groups for p in group["params"]]

    @staticmethod
    def _flat(params):
        """One tensor that holds the parameters, which become views of it."""
        with no_grad():
            flat, at = cat([p.detach().reshape(-1) for p in params]), 0
        for p in params:
            p.data = flat[at : at + p.numel()].view(p.shape)
            at += p.numel()
        return [flat]

    def add_param_group(self, param_group):
        """Adds parameters with options of their own and gives each rank its share of them."""
        super().add_param_group(param_group)
        if self.optim is None:  # the constructor's
            return
        self._gathered = []
        self.optim.add_param_group(self._shares()[self.rank][-1])
        _copy_options(self.optim.param_groups[-1:], self.param_groups[-1:])
        self._set_buckets()

    # ---- steps

    def step(self, closure=None, **kwargs):
        """Steps this rank's parameters, then gives each rank those of the others."""
        Join.notify_join_context(self)
        loss = None
        if closure is not None:  # on every rank, whatever the rank's own optimizer would do
            with enable_grad():
                loss = closure()
        self._step(**kwargs)
        return loss

    def _step(self, **kwargs):
        _copy_options(self.param_groups, self.optim.param_groups)
        with no_grad():
            self.optim.step(**kwargs)
        _copy_options(self.optim.param_groups, self.param_groups)
        if self._flags() != self._trainable:
            self._set_buckets()
        self._send()

    def _send(self):
        if self.world_size == 1:
            return
        tell_place()
        with no_grad():
            sent = [
                api.group_broadcast(self._group._handle, [t.detach() for t in tensors], rank, True)
                for rank, tensors in self._buckets
            ]
        for work in sent:
            api.work_wait(work)

    # ---- uneven inputs

    def join_hook(self, **kwargs):
        return _StepOfOthers(self)

    @property
    def join_device(self):
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self):
        return self.process_group

    # ---- state

    def consolidate_state_dict(self, to=0):
        """Collects all ranks' state on rank `to` of the group, where `state_dict` gives it then;
        every rank calls it."""
        if not 0 <= to < self.world_size:
            raise ValueError(
                f"consolidate_state_dict: there is no rank {to} in a group of {self.world_size}"
            )
        _copy_options(self.param_groups, self.optim.param_groups)
        into = [None] * self.world_size if self.rank == to else None
        gather_object(_on_host(self.optim.state_dict()), into, group=self._group, group_dst=to)
        self._gathered = into or []

    def state_dict(self):
        """The whole optimizer's, as `consolidate_state_dict` collected it on this rank."""
        if not self._gathered:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to "
                "save the global state."
            )
        found = super().state_dict()
        numbers = self._numbers()
        for own, groups in zip(self._gathered, self._partitioned):
            for packed, params in zip(own["param_groups"], groups):
                for local, p in zip(packed["params"], params):
                    if local in own["state"]:
                        found["state"][numbers[id(p)]] = own["state"][local]
        found["state"] = dict(sorted(found["state"].items()))
        return found

    def _numbers(self):
        params = [p for group in self.param_groups for p in group["params"]]
        return {id(p): i for i, p in enumerate(params)}

    def load_state_dict(self, state_dict):
        """Takes over a whole optimizer's state: the plain one's, or one of any number of ranks.
        Each rank keeps its share."""
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups) or any(
            len(a["params"]) != len(b["params"]) for a, b in zip(groups, self.param_groups)
        ):
            raise ValueError(
                "loaded state dict has parameter groups of other sizes than the optimizer's"
            )
        theirs = [number for group in groups for number in group["params"]]
        ours, state, packed, count = self._numbers(), {}, [], 0
        for group, params in zip(groups, self._partitioned[self.rank]):
            for i, p in enumerate(params, count):
                number = theirs[ours[id(p)]]
                if number in state_dict["state"]:
                    state[i] = state_dict["state"][number]
            packed.append({**group, "params": list(range(count, count + len(params)))})
            count += len(params)
        self.optim.load_state_dict({"state": state, "param_groups": packed})
        self._gathered = []
        _copy_options(self.optim.param_groups, self.param_groups)


def _with(group, params):
    """A group's options with other parameters, whose names it does not know."""
    return {**{k: v for k, v in group.items() if k != "param_names"}, "params": params}


def _copy_options(source, to):
    """What groups say beside their parameters, which are other ones."""
    for given, taken in zip(source, to):
        taken.update({k: v for k, v in given.items() if k not in ("params", "param_names")})


def _on_host(value):
    """State with its tensors on the CPU, where rank `to` has room for all ranks'."""
    if isinstance(value, Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {k: _on_host(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_on_host(v) for v in value)
    return value
