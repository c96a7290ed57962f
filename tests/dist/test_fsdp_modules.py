"""Modules of fully_shard between and beside steps: state dicts, by hand, prefetch, failures,
several calls, a GradScaler; and FullyShardedDataParallel over it. Two ranks."""

import dataclasses
import functools
import types

from tests.dist import ranks
from tests.dist.sharding import STEPS, block, data, loss_of, message, mlp, sharded


def states(torch, rank):
    """State dicts of parts, and what a module shows between its calls."""
    from flambeau.distributed.tensor import DTensor

    net, other = sharded(mlp(torch)), sharded(mlp(torch))
    x = data(torch, net, 0)
    net(x).sum().backward()
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(2).add_(1)
        same = torch.equal(net(x), net(x))
    state = net.state_dict()
    with torch.no_grad():
        before = net(x)
    other.load_state_dict(state)
    with torch.no_grad():
        after = other(x)
    third = sharded(mlp(torch))
    third.load_state_dict({k: torch.nn.Parameter(v.clone()) for k, v in state.items()}, assign=True)
    with torch.no_grad():
        assigned = torch.equal(third(x), after)
    third[0].weight = torch.nn.Parameter(torch.ones(11, 6))
    replaced = "was replaced by" in message(lambda: third(x), RuntimeError)
    net(x)  # its graph is dropped; the root's parameters are still whole
    parts = all(isinstance(v, DTensor) for v in net.state_dict().values())
    shapes = [v.shape for v in state.values()] == [p.shape for p in mlp(torch).parameters()]
    wrong = message(lambda: other.load_state_dict(mlp(torch).state_dict()), RuntimeError)
    refused = "mixed torch.Tensor and DTensor" in wrong
    return [parts, shapes, torch.equal(before, after), same, refused, assigned, replaced]


def handled(torch, rank):
    """unshard and reshard by hand, prefetch, frozen and unused parameters, modules that share."""
    from flambeau.distributed.fsdp import FSDPModule, fully_shard
    from flambeau.distributed.tensor import DTensor

    net = sharded(mlp(torch))
    kinds = [isinstance(net, FSDPModule), isinstance(net[0], torch.nn.Linear)]
    found = {"class": [*kinds, type(net).__name__]}
    handle = net[0].unshard(async_op=True)
    handle.wait()
    whole = [not isinstance(net[0].weight, DTensor), list(net[0].weight.shape)]
    net[0].reshard()
    found["by hand"] = [*whole, isinstance(net[0].weight, DTensor)]
    net[0].bias.requires_grad_(False)
    ahead = []
    net[0].register_forward_hook(lambda *_: ahead.append(bool(net[2]._fsdp_state.group._coming)))
    for _ in range(2):
        net(data(torch, net, 0)).sum().backward()
    net[0].set_modules_to_forward_prefetch([])
    net(data(torch, net, 0)).sum().backward()
    found["ahead"] = ahead
    found["frozen"] = [net[0].bias.grad is None, net[0].weight.grad is not None]
    pair = torch.nn.ModuleDict({"used": torch.nn.Linear(2, 2), "unused": torch.nn.Linear(2, 2)})

    class Half(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.pair = pair

        def forward(self, x):
            return self.pair["used"](x)

    half = fully_shard(Half())
    half(torch.ones(1, 2)).sum().backward()
    found["unused"] = [pair["used"].weight.grad is not None, pair["unused"].weight.grad is None]
    tied = sharded(block(torch))
    found["tied"] = tied.head.weight is tied.table.weight
    one = torch.nn.Linear(1, 1)
    found["refused"] = [
        message(lambda: fully_shard(torch.nn.ModuleList([torch.nn.Linear(1, 1)])), ValueError),
        message(lambda: fully_shard(half), AssertionError),
        message(lambda: fully_shard(one, reshard_after_forward=3), ValueError),
        message(lambda: net[2].forward(torch.ones(1, 11)), TypeError),
        message(lambda: net.set_modules_to_backward_prefetch([one]), ValueError),
    ]
    scalar = torch.nn.Module()
    scalar.x = torch.nn.Parameter(torch.tensor(1.0))
    found["refused"].append(message(lambda: fully_shard(scalar), ValueError))
    return found


def after_failures(torch, rank):
    """A forward and a backward that raise leave nothing behind; modules may share a group."""
    from flambeau.distributed.fsdp import fully_shard

    net, ref = mlp(torch), mlp(torch)
    fully_shard([net[0], net[2]])
    fully_shard(net)
    x = data(torch, net, 0)

    def fail(*_):
        raise ValueError("on purpose")

    seen = []
    for place in (3, 2):
        hook = net[place].register_forward_hook(fail)
        seen.append(message(lambda: net(x), ValueError))
        hook.remove()
        hook = net[place].register_full_backward_hook(fail)
        seen.append(message(lambda: net(x).sum().backward(), ValueError))
        hook.remove()
    for m in (net, ref):
        m(x).sum().backward()
    pairs = zip(net.parameters(), ref.parameters(), strict=True)
    worst = max((a.grad.full_tensor() - b.grad).abs().max().item() for a, b in pairs)
    return [worst, set(seen) == {"on purpose"}]


def scaled(torch, rank):
    """A gradient that is not finite on one rank's part skips the step of all."""
    net = sharded(mlp(torch))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    seen = []
    for bad in (False, True):
        before = net[4].weight.full_tensor().clone()
        optimizer.zero_grad()
        scaler.scale(loss_of(torch, net, data(torch, net, 0))).backward()
        if bad and rank == 1:
            net[4].weight.grad.to_local()[0, 0] = float("inf")
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        seen.append([torch.equal(net[4].weight.full_tensor(), before), scaler.get_scale()])
    return seen


def twice(torch, rank):
    """Two backwards of one forward, two forwards of one backward, inputs' gradients, another
    dtype."""
    net, ref = sharded(mlp(torch), reshard_after_forward=True), mlp(torch)
    x, found = data(torch, net, 0), []

    def differs():
        pairs = zip(net.parameters(), ref.parameters(), strict=True)
        found.append(max((a.grad.full_tensor() - b.grad).abs().max().item() for a, b in pairs))
        for m in (net, ref):
            m.zero_grad()

    for m in (net, ref):
        y = m(x)
        y.sum().backward(retain_graph=True)
        y.square().sum().backward()
    differs()
    for m in (net, ref):
        (m(x) * m(x * 2)).sum().backward()
    differs()
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    grads = [torch.autograd.grad(m(t).sum(), t)[0] for m, t in zip((net, ref), inputs)]
    found.append((grads[0] - grads[1]).abs().max().item())
    for m in (net, ref):
        m.double()
        m.zero_grad()
        m(x.double()).sum().backward()
    differs()
    return max(found)


def wrapped(torch, rank, cpu):
    """FullyShardedDataParallel: the same steps, whole state dicts, no_sync, parameters in a
    block."""
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.fsdp import ShardingStrategy, StateDictType
    from flambeau.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy
    from flambeau.distributed.tensor import DTensor

    found = []
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
        policy = ModuleWrapPolicy({torch.nn.Linear})
        start, ref = mlp(torch), mlp(torch)
        with torch.no_grad():
            start[0].weight.add_(float(rank))
        net = FSDP(start, sharding_strategy=strategy, auto_wrap_policy=policy, device_mesh=cpu,
                   sync_module_states=True)  # fmt: skip
        made = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (net, ref)]
        for step in range(STEPS):
            x = data(torch, ref, step)
            with net.no_sync():
                loss_of(torch, net, x[2 * rank : 2 * rank + 2]).backward()
            loss_of(torch, net, x[2 * rank : 2 * rank + 2]).backward()
            (2 * loss_of(torch, ref, x)).backward()
            whole = torch.nn.utils.clip_grad_norm_(ref.parameters(), 0.05)
            norms = [net.clip_grad_norm_(0.05), whole]
            for optimizer in made:
                optimizer.step()
                optimizer.zero_grad()
        state = net.state_dict()
        found.append(abs((norms[0] - norms[1]).item()) < 1e-5 and norms[1].item() > 0.05)
        found.append(all((state[k] - v).abs().max() < 1e-5 for k, v in ref.state_dict().items()))
        found.append(len(net[0]._states(True)) == 1 and len(net.module._states(True)) == 4)
    with FSDP.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        found.append(all(isinstance(v, DTensor) for v in net.state_dict().values()))
    net.load_state_dict(mlp(torch).state_dict())
    with FSDP.summon_full_params(net):
        found.append(torch.equal(net[0].weight, mlp(torch)[0].weight))
        with torch.no_grad():
            net[0].weight.fill_(2.0)
    found.append(net.state_dict()["0.weight"].unique().tolist() == [2.0])
    twin = torch.nn.Sequential(torch.nn.Linear(6, 6))
    twins = torch.nn.Sequential(twin, torch.nn.Sequential(twin[0], torch.nn.Linear(6, 2)))
    once = FSDP(twins, auto_wrap_policy=policy, device_mesh=cpu)
    once(torch.ones(1, 6)).sum().backward()
    found.append(len(once.module._states(True)) == 3 and twin[0].weight.grad is not None)
    few = functools.partial(size_based_auto_wrap_policy, min_num_params=30)
    body = torch.nn.Linear(6, 6)
    places = [torch.nn.Sequential(body), torch.nn.Sequential(body), torch.nn.Linear(2, 2)]
    holder = torch.nn.Sequential(torch.nn.Sequential(*places))
    FSDP(holder, auto_wrap_policy=few, device_mesh=cpu)
    found.append([hasattr(m, "unshard") for m in (body, holder[0])] == [True, False])
    sized = functools.partial(size_based_auto_wrap_policy, min_num_params=100)
    by_size = FSDP(mlp(torch), auto_wrap_policy=sized, device_mesh=cpu)
    found.append([hasattr(by_size.module[i], "unshard") for i in (0, 2, 4)] == [False, True, False])
    return found


def summoned(torch, cpu):
    """Parameters in a block are whole in their own dtype, whatever forward computes in, before the
    first forward and after one that has kept them."""
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.fsdp import MixedPrecision

    low, found = MixedPrecision(param_dtype=torch.bfloat16), []
    ref, net = mlp(torch), FSDP(mlp(torch), mixed_precision=low, device_mesh=cpu)
    for _ in range(2):
        with FSDP.summon_full_params(net), torch.no_grad():
            found.append(torch.equal(net[0].weight, ref[0].weight))
            net[2].bias.add_(1.001)
            ref[2].bias.add_(1.001)
        found += [
            torch.equal(p.full_tensor(), q) for p, q in zip(net.parameters(), ref.parameters())
        ]
        net(data(torch, ref, 0)).float().sum().backward()
        found += [p.grad.dtype is torch.float32 for p in net.parameters()]
        net(data(torch, ref, 0))
    return all(found) and len(found) == 2 * (1 + 6 + 6)


@dataclasses.dataclass(frozen=True)
class Output:
    """What a model may return, as a part of it."""

    made: list
    steps: int = dataclasses.field(default=1, init=False)


def returned(torch, rank):
    """Roots whose outputs are dataclasses train as others do; those in whose outputs nobody finds
    a tensor say so."""
    from flambeau.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    class Model(torch.nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.body, self.kind = mlp(torch), kind

        def forward(self, x):
            return self.kind([self.body(x)])

    def opaque(made):
        return types.SimpleNamespace(made=made)

    wide = MixedPrecisionPolicy(output_dtype=torch.float64)
    nets = {kind: fully_shard(Model(kind), mp_policy=wide) for kind in (Output, opaque)}
    x, ref, net = data(torch, None, 0), mlp(torch), nets[Output]
    found = net(x)
    ref(x).sum().backward()
    found.made[0].sum().backward()
    pairs = zip(net.parameters(), ref.parameters(), strict=True)
    worst = max((a.grad.full_tensor() - b.grad).abs().max().item() for a, b in pairs)
    told = message(lambda: nets[opaque](x), TypeError)
    with torch.no_grad():
        quiet = nets[opaque](x).made[0].shape == (4, 3)
    plain = [fully_shard(Model(kind))(x) for kind in (len, str, lambda made: {}, lambda made: None)]
    for p in nets[opaque].parameters():
        p.requires_grad_(False)
    quiet = quiet and nets[opaque](x).made[0].shape == (4, 3) and plain[0] == 1
    kept = type(found) is Output and found.steps == 1 and found.made[0].dtype is torch.float64
    return [worst, kept, told, quiet]


def nested(torch, rank, cpu):
    """Modules that hold a wrapper, wrapped themselves or not: they load what they have saved, and
    its state dict type concerns its own entries."""
    from flambeau.distributed import fsdp
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.tensor import DTensor

    kinds, found = fsdp.StateDictType, []
    for around in (lambda net: net, functools.partial(FSDP, device_mesh=cpu)):
        inner = mlp(torch)
        inner[2] = FSDP(inner[2], device_mesh=cpu)
        net, state = around(inner), mlp(torch).state_dict()
        found.append([*net.state_dict()] == [*state])
        other = {key: value + 1 for key, value in state.items()}
        net(data(torch, None, 0))  # the parameters of the root stay whole
        found.append(not any(net.load_state_dict(other)))
        found.append(all(torch.equal(v, other[k]) for k, v in net.state_dict().items()))
        with FSDP.state_dict_type(net, kinds.SHARDED_STATE_DICT):
            parts = {k: v.detach().clone() for k, v in net.state_dict().items()}
            found.append(isinstance(parts["2.weight"], DTensor))
        found.append(not isinstance(net.state_dict()["2.weight"], DTensor))
        net.load_state_dict(state)
        found.append(not any(net.load_state_dict(parts)))
        found.append(all(torch.equal(v, other[k]) for k, v in net.state_dict().items()))
        missing = net.load_state_dict({"2.other": state["2.bias"]}, strict=False)
        found.append([*missing.missing_keys] == [*state])
        found.append(missing.unexpected_keys == ["2.other"])
        on_first = kinds.FULL_STATE_DICT, fsdp.FullStateDictConfig(rank0_only=True)
        with FSDP.state_dict_type(inner[2], *on_first):
            left = [k for k in state if rank == 0 or not k.startswith("2.")]
            found.append([*inner.state_dict()] == left)
        with FSDP.state_dict_type(net, *on_first):
            left = left if net is inner or rank == 0 else []
            found.append([*net.state_dict()] == left)
        found.append(FSDP.fsdp_modules(net) == [m for m in (net, inner[2]) if type(m) is FSDP])
        found.append(len(FSDP.fsdp_modules(net, root_only=True)) == 1)
    return found


def imported(torch, cpu):
    """Names that programs import: wrapping by hand and by a policy of their own, and refusals."""
    from flambeau.distributed import fsdp
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.fsdp.wrap import CustomPolicy, enable_wrap, wrap

    nn, found = torch.nn, []
    with enable_wrap(wrapper_cls=FSDP, device_mesh=cpu):
        inner = wrap(nn.Linear(2, 2))
        sharded_only = wrap(nn.Linear(2, 2), sharding_strategy=fsdp.ShardingStrategy.SHARD_GRAD_OP)
    found.append(type(inner) is FSDP and type(sharded_only) is FSDP)
    found.append(type(wrap(nn.Linear(2, 2))) is nn.Linear)

    def made(policy):
        return FSDP(mlp(torch), auto_wrap_policy=CustomPolicy(policy), device_mesh=cpu).module

    net = made(lambda m: isinstance(m, nn.Linear) and m.in_features == 6)
    found.append([hasattr(net[i], "unshard") for i in range(5)] == [True] + [False] * 4)
    full = fsdp.StateDictType.FULL_STATE_DICT
    found += [
        "but it returned 1" in message(lambda: made(lambda m: 1), ValueError),
        "options of single" in message(lambda: made(lambda m: {"a": 1}), NotImplementedError),
        not any(hasattr(m, "unshard") for m in made(lambda m: {})),
        issubclass(fsdp.ShardedOptimStateDictConfig, fsdp.OptimStateDictConfig),
        issubclass(fsdp.LocalStateDictConfig, fsdp.StateDictConfig),
        "but got <class 'object'>" in message(
            lambda: FSDP.set_state_dict_type(inner, full, None, object()), RuntimeError
        ),
    ]  # fmt: skip
    return found


def clipped(torch, rank, cpu):
    """With parameters that every rank has whole, and without any gradient."""
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP

    start, ref = mlp(torch), mlp(torch)
    net = FSDP(start, device_mesh=cpu, ignored_states=list(start[0].parameters()))
    found = [net.clip_grad_norm_(1.0).item() == 0.0]
    x = data(torch, ref, 0)
    for m in (net, ref):
        loss_of(torch, m, x).backward()
    norms = [net.clip_grad_norm_(0.05), torch.nn.utils.clip_grad_norm_(ref.parameters(), 0.05)]
    found.append(abs((norms[0] - norms[1]).item()) < 1e-5 and norms[1].item() > 0.05)
    for a, b in zip(net.parameters(), ref.parameters(), strict=True):
        whole = a.grad.full_tensor() if hasattr(a.grad, "full_tensor") else a.grad
        found.append((whole - b.grad).abs().max().item() < 1e-6)
    return found


def without_rows(torch, rank):
    """Parameters without elements beside others, in one group and in one of their own."""
    from flambeau.distributed.fsdp import fully_shard

    class Module(torch.nn.Module):
        def __init__(self, *shapes):
            super().__init__()
            torch.manual_seed(0)
            made = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
            self.all = torch.nn.ParameterList(made)

        def forward(self, x):
            return sum((p * x).sum() for p in self.all)

    found = []
    for shapes in [(0, 4), (3, 2), (0,), (2, 0)], [(0, 4)]:
        net = fully_shard(Module(*shapes))
        for _ in range(2):
            net.zero_grad()
            net(torch.tensor(rank + 1.0)).backward()
        whole = [p.grad.full_tensor() for p in net.parameters()]
        found.append([list(g.shape) for g in whole] == [list(shape) for shape in shapes])
        found.append(all((g == 1.5).all().item() for g in whole))
    return found


def on_each_rank(rank, size):
    import flambeau.distributed as dist
    import flambeau as torch
    from flambeau.distributed.device_mesh import init_device_mesh

    cpu = init_device_mesh("cpu", (size,))
    found = {
        "states": states(torch, rank),
        "handled": handled(torch, rank),
        "scaled": scaled(torch, rank),
        "after": after_failures(torch, rank),
        "twice": twice(torch, rank),
        "clipped": clipped(torch, rank, cpu),
        "wrapped": wrapped(torch, rank, cpu),
        "returned": returned(torch, rank),
        "summoned": summoned(torch, cpu),
        "nested": nested(torch, rank, cpu),
        "imported": imported(torch, cpu),
        "without rows": without_rows(torch, rank),
    }
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 2, timeout=120)


def test_several_calls_and_backwards():
    for one in found():
        assert one["twice"] < 1e-5


def test_one_rank_that_overflows_skips_the_step_of_all():
    for one in found():
        assert one["scaled"] == [[False, 8.0], [True, 4.0]]


def test_goes_on_after_failures():
    for one in found():
        worst, raised = one["after"]
        assert worst < 1e-5 and raised


def test_first_form():
    for one in found():
        assert one["wrapped"] == [True] * 12


def test_parameters_in_a_block_keep_their_dtype():
    for one in found():
        assert one["summoned"]


def test_wrappers_below_others():
    for one in found():
        assert one["nested"] == [True] * 26


def test_names_that_programs_import():
    for one in found():
        assert one["imported"] == [True] * 9


def test_outputs():
    for one in found():
        worst, kept, told, quiet = one["returned"]
        assert worst < 1e-6 and kept and quiet
        assert "what FSDPModel returned, an object of SimpleNamespace" in told


def test_clipping_where_some_parameters_are_whole():
    for one in found():
        assert one["clipped"] == [True] * 8


def test_parameters_without_elements():
    for one in found():
        assert one["without rows"] == [True] * 4


def test_states():
    for one in found():
        assert one["states"] == [True] * 7


def test_by_hand():
    for one in found():
        handled = one["handled"]
        assert handled["class"] == [True, True, "FSDPSequential"]
        assert handled["by hand"] == [True, [11, 6], True]
        assert handled["ahead"] == [False, True, False]
        assert handled["frozen"] == handled["unused"] == [True, True] and handled["tied"]
        for text, part in zip(
            handled["refused"],
            ("do not implement forward", "be applied to a module once", "a factor of 2, not 3",
             "mixed torch.Tensor and DTensor", "Expects FSDPModule", "doesn't support scalar"),
            strict=True,
        ):  # fmt: skip
            assert part in text
