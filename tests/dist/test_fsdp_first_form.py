"""FullyShardedDataParallel beside its state dicts of modules, on two ranks: those of optimizers,
parameters that are copied instead of cut, a GradScaler of all ranks, activations that are computed
anew."""

import functools
import os

import pytest

from tests.dist import ranks
from tests.dist.sharding import data, loss_of, message, mlp


def stepped(torch, make, steps=2):
    """A wrapper and its optimizer, and the same of one process, after some steps."""
    net, ref = make(mlp(torch)), mlp(torch)
    made = [torch.optim.AdamW(m.parameters(), lr=0.05) for m in (net, ref)]
    advance(torch, net, ref, made, range(steps))
    return net, ref, *made


def advance(torch, net, ref, made, steps):
    rank = torch.distributed.get_rank()
    for step in steps:
        x = data(torch, ref, step)
        for m, optimizer, given in zip((net, ref), made, (x[2 * rank : 2 * rank + 2], x)):
            optimizer.zero_grad()
            loss_of(torch, m, given).backward()
            optimizer.step()


def apart(net, ref):
    state = net.state_dict()
    return max((state[k] - v).abs().max().item() for k, v in ref.state_dict().items())


def close(torch, a, b):
    whole = [v.full_tensor() if hasattr(v, "full_tensor") else v for v in (a, b)]
    return torch.allclose(*whole, rtol=1e-4, atol=1e-6)


def optimizers(torch, rank, cpu):
    """State dicts of optimizers by every way, and training goes on alike from each."""
    from flambeau.distributed import fsdp
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.tensor import DTensor

    make, found = functools.partial(FSDP, device_mesh=cpu), []
    net, ref, optimizer, plain = stepped(torch, make)
    full = FSDP.optim_state_dict(net, optimizer)
    by_number = fsdp.OptimStateKeyType.PARAM_ID
    numbers = FSDP.rekey_optim_state_dict(full, by_number, net, None, optimizer)
    expected = plain.state_dict()
    found.append([*full["state"]] == [name for name, _ in ref.named_parameters()])
    found.append(full["param_groups"][0]["params"] == [*full["state"]])
    found.append(numbers["param_groups"][0]["params"] == expected["param_groups"][0]["params"])
    for number, own in expected["state"].items():
        mine = numbers["state"][number]
        found.append(all(close(torch, mine[key], own[key]) for key in own))
    kinds = fsdp.FullStateDictConfig, fsdp.FullOptimStateDictConfig
    first = [kind(rank0_only=True) for kind in kinds]
    with FSDP.state_dict_type(net, fsdp.StateDictType.FULL_STATE_DICT, *first):
        alone = FSDP.optim_state_dict(net, optimizer)
        found.append(bool(alone) is (rank == 0))
        found.append(FSDP.get_state_dict_type(net).optim_state_dict_config == first[1])
        sent = FSDP.optim_state_dict_to_load(net, optimizer, alone)
    with FSDP.state_dict_type(net, fsdp.StateDictType.SHARDED_STATE_DICT):
        parts = FSDP.optim_state_dict(net, optimizer)
        found.append(isinstance(parts["state"]["0.weight"]["exp_avg"], DTensor))
        host = FSDP.state_dict_type(net, fsdp.StateDictType.SHARDED_STATE_DICT,
                                    fsdp.ShardedStateDictConfig(offload_to_cpu=True))  # fmt: skip
        with host:
            found.append(isinstance(net.state_dict()["0.weight"], DTensor))
        laid = FSDP.optim_state_dict_to_load(net, optimizer, parts)
    back = FSDP.optim_state_dict_to_load(net, optimizer, full)
    scattered = FSDP.scatter_full_optim_state_dict(full if rank == 0 else None, net)
    weights = net.state_dict()
    for state in (sent, laid, back, scattered, FSDP.shard_full_optim_state_dict(full, net)):
        other, same = make(mlp(torch)), mlp(torch)
        other.load_state_dict(weights)
        same.load_state_dict(weights)
        made = [torch.optim.AdamW(m.parameters(), lr=0.05) for m in (other, same)]
        made[0].load_state_dict(state)
        made[1].load_state_dict(expected)
        advance(torch, other, same, made, (2, 3))
        found.append(apart(other, same) < 1e-5)
    other = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1)
    told = message(lambda: FSDP.optim_state_dict(net, other), ValueError)
    return [*found, "none of the model" in told]


def copied(torch, rank, dist):
    """Parameters whole on every rank, or in parts with copies by a pair of groups."""
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.fsdp import ShardingStrategy as Strategy

    alone = [dist.new_group([r]) for r in range(2)][rank]
    makes = [
        functools.partial(FSDP, sharding_strategy=Strategy.NO_SHARD),
        functools.partial(FSDP, (alone, dist.group.WORLD), Strategy.HYBRID_SHARD),
        functools.partial(FSDP, (dist.group.WORLD, alone), Strategy._HYBRID_SHARD_ZERO2),
    ]
    makes = [
        makes[0],
        *(lambda m, f=f: FSDP(m, *f.args, **f.keywords) for f in makes[1:]),
    ]
    found = []
    for make in makes:
        net, ref, *_ = stepped(torch, make, 5)
        sizes = [p.to_local().numel() == p.numel() for p in net.parameters()]
        found.append([apart(net, ref) < 1e-5, all(sizes)])
    lacks = message(lambda: FSDP(mlp(torch), alone, Strategy.HYBRID_SHARD), ValueError)
    return [found, "process_group=(group of the parts" in lacks]


def by_machine(rank, size):
    """Parts on the ranks of a machine, of which the launcher says that it has two, and copies on
    the other; the losses are those of parts on all."""
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.fsdp import ShardingStrategy as Strategy

    dist.init_process_group("gloo")
    hybrid, whole = mlp(torch), mlp(torch)
    hybrid, whole = FSDP(hybrid, None, Strategy.HYBRID_SHARD), FSDP(whole)
    weight, losses = hybrid.module[0].weight, []
    mesh = weight.device_mesh
    shares = weight.to_local().shape[0], mesh.mesh.tolist()
    for net in hybrid, whole:
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            loss = loss_of(torch, net, data(torch, net.module, rank + size * step))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    os.environ["LOCAL_WORLD_SIZE"] = "3"
    uneven = message(lambda: FSDP(mlp(torch), None, Strategy.HYBRID_SHARD), ValueError)
    os.environ["LOCAL_WORLD_SIZE"] = "2211"[rank]
    unlike = message(lambda: FSDP(mlp(torch), None, Strategy.HYBRID_SHARD), ValueError)
    del os.environ["LOCAL_WORLD_SIZE"]
    unknown = message(lambda: FSDP(mlp(torch), None, Strategy.HYBRID_SHARD), ValueError)
    dist.destroy_process_group()
    return [shares, losses, uneven, unlike, unknown]


def test_parts_on_the_ranks_of_a_machine():
    found = ranks.values(by_machine, 4, LOCAL_WORLD_SIZE="2")
    for rank, (shares, losses, uneven, unlike, unknown) in enumerate(found):
        assert shares == [6 - rank % 2, [[0, 1], [2, 3]]]  # of 11 rows
        assert losses[:3] == pytest.approx(losses[3:], rel=1e-5)
        assert "there are 4 ranks and 3 ranks on a machine" in uneven
        assert "there are 4 ranks and 1 or 2 ranks on a machine" in unlike
        assert "no LOCAL_WORLD_SIZE in the environment" in unknown


def scaled(torch, rank):
    """A gradient that is not finite on one rank skips the step of all, and the losses' dtypes."""
    from flambeau.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    net = mlp(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler, seen = ShardedGradScaler("cpu", 8.0, 0.25, 4.0, growth_interval=1), []
    low = scaler.scale(torch.ones((), dtype=torch.bfloat16))
    for bad in (False, True):
        before = net[4].weight.detach().clone()
        optimizer.zero_grad()
        scaler.scale(loss_of(torch, net, data(torch, net, rank))).backward()
        if bad and rank == 1:
            net[4].weight.grad[0, 0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        seen.append([torch.equal(net[4].weight, before), scaler.get_scale()])
    return [seen, low.dtype is torch.bfloat16, low.item()]


def recomputed(torch, cpu):
    """Wrappers of activations: the same gradients, names and states, also around and inside of
    FullyShardedDataParallel."""
    from flambeau.distributed.algorithms._checkpoint import checkpoint_wrapper as c
    from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
    from flambeau.distributed.fsdp.wrap import ModuleWrapPolicy

    nn, found = torch.nn, []
    x, ref = data(torch, mlp(torch), 0), mlp(torch)
    loss_of(torch, ref, x).backward()
    calls = []
    kinds = [
        c.checkpoint_wrapper,
        functools.partial(c.checkpoint_wrapper, checkpoint_impl=c.CheckpointImpl.REENTRANT),
        c.offload_wrapper,
    ]
    for wrap in kinds:
        net = mlp(torch)
        c.apply_activation_checkpointing(net, wrap, lambda m: isinstance(m, nn.Linear))
        wrapped = [isinstance(m, c.ActivationWrapper) for m in net]
        found.append(wrapped == [True, False, True, False, True])
        found.append([*net.state_dict()] == [*ref.state_dict()])
        net.load_state_dict(ref.state_dict())
        net[0].register_forward_hook(lambda *_: calls.append(1))
        t = x.clone().requires_grad_()
        loss_of(torch, net, t).backward()
        pairs = zip(net.parameters(), ref.parameters(), strict=True)
        found.append(all(torch.allclose(a.grad, b.grad) for a, b in pairs))
    policy = ModuleWrapPolicy({nn.Linear})
    inner = mlp(torch)
    c.apply_activation_checkpointing(inner, auto_wrap_policy=policy)
    whole = c.checkpoint_wrapper(mlp(torch))
    found.append([name for name, _ in whole.named_parameters()] == [*ref.state_dict()])
    found.append(whole[0].in_features == 6 and whole[4] is whole._checkpoint_wrapped_module[4])
    for module in (inner, whole):
        net = FSDP(module, device_mesh=cpu)
        found.append([*net.state_dict()] == [*ref.state_dict()])
        net.load_state_dict(ref.state_dict())
        loss_of(torch, net, x).backward()
        pairs = zip(net.parameters(), ref.parameters(), strict=True)
        found.append(all(torch.allclose(a.grad.full_tensor(), b.grad) for a, b in pairs))

    class Keyed(nn.Module):
        def forward(self, x, *, scale):
            return x.sin() * scale

    keyed = c.checkpoint_wrapper(Keyed(), c.CheckpointImpl.REENTRANT)
    t, u = (x.clone().requires_grad_() for _ in range(2))
    keyed(t, scale=u).sum().backward()
    found.append(torch.allclose(t.grad, x.cos() * x) and torch.allclose(u.grad, x.sin()))
    return found


def on_each_rank(rank, size):
    import warnings

    import flambeau.distributed as dist
    import flambeau as torch
    from flambeau.distributed.device_mesh import init_device_mesh

    warnings.simplefilter("ignore", FutureWarning)  # of the older forms of optimizers' states
    cpu = init_device_mesh("cpu", (size,))
    found = {
        "optimizers": optimizers(torch, rank, cpu),
        "copied": copied(torch, rank, dist),
        "scaled": scaled(torch, rank),
        "recomputed": recomputed(torch, cpu),
    }
    dist.destroy_process_group()
    return found


@functools.cache
def found():
    return ranks.values(on_each_rank, 2, timeout=90)


def test_states_of_optimizers():
    for one in found():
        assert one["optimizers"] == [True] * 19


def test_copies():
    for one in found():
        states, lacks = one["copied"]
        assert states == [[True, True], [True, True], [True, False]] and lacks


def test_one_rank_that_overflows_skips_the_step_of_all():
    for one in found():
        assert one["scaled"] == [[[False, 32.0], [True, 8.0]], True, 8.0]


def test_activations():
    for one in found():
        assert one["recomputed"] == [True] * 16
