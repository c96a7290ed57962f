"""Parameters that ranks average now and then, by themselves or after steps of an optimizer; a
sampler that begins in the middle, and modules that programs import."""

import warnings

import pytest

from tests.dist import ranks


def averaged(rank, size):
    import flambeau.distributed as dist
    import flambeau as torch
    from flambeau.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from flambeau.distributed.algorithms.model_averaging.utils import (
        average_parameters,
        get_params_to_average,
    )

    dist.init_process_group()
    p, q = (torch.nn.Parameter(torch.full((n,), float(rank))) for n in (2, 3))
    averager, seen = PeriodicModelAverager(period=2, warmup_steps=1), []
    p.grad, q.grad = torch.zeros(2), torch.zeros(3)  # without, a parameter is left alone
    for _ in range(4):
        averager.average_parameters([p, q])
        seen.append([p.detach().mean().item(), q.detach().mean().item()])
        with torch.no_grad():
            p.add_(float(rank))
    p.grad = None
    with torch.no_grad():
        q.fill_(float(rank))
    averager.average_parameters([{"params": [p]}, {"params": [q]}])
    averager.average_parameters([{"params": [p]}, {"params": [q]}])
    seen.append([p[0].item(), q[0].item()])
    average_parameters(iter([p]), dist.group.WORLD)
    seen.append(p[0].item())
    with pytest.raises(ValueError, match="positive"):
        PeriodicModelAverager(0)
    with pytest.warns(UserWarning, match="period is 1, no need"):
        PeriodicModelAverager(1)
    with pytest.raises(NotImplementedError, match="type <class 'int'> is not supported"):
        get_params_to_average([1])
    dist.destroy_process_group()
    return seen


def test_averages_after_a_period():
    zero, one = ranks.values(averaged, 2)
    # Steps 1 and 3 average; between them rank 1 goes on by itself.
    assert zero == [[0, 0], [1, 0.5], [1, 0.5], [2, 0.5], [2, 0.5], 2.5]
    assert one == [[1, 1], [1, 0.5], [2, 0.5], [2, 0.5], [3, 0.5], 2.5]


def of_some(rank, size):
    """Rank 0 averages with itself; the other has no group, and goes on."""
    import flambeau.distributed as dist
    import flambeau as torch
    from flambeau.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from flambeau.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    dist.init_process_group()
    group, p = dist.new_group([0]), torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2) * (1 if rank else float("inf"))
    averager = PeriodicModelAverager(period=2, process_group=group)
    assert averager.process_group is group
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            averager.average_parameters([p])
    scaler, optimizer = ShardedGradScaler("cpu", process_group=group), torch.optim.SGD([p], lr=1.0)
    scaler.scale(torch.ones(1))
    with warnings.catch_warnings(record=True) as alone:
        warnings.simplefilter("always")
        scaler.step(optimizer)
    dist.destroy_process_group()
    said, alone = ([str(one.message) for one in each] for each in (said, alone))
    return averager.step, said, any("does not belong" in text for text in alone), p[0].item()


def test_ranks_outside_of_a_group_average_nothing_and_go_on():
    zero, one = ranks.values(of_some, 2)
    assert zero == [3, [], False, 1.0]  # its gradient is infinite
    assert one == [3, [], True, 1 - 1 / 2**16]


def in_groups(rank, size):
    """After pairs averaged each second step, all four each fourth."""
    import flambeau.distributed as dist
    import flambeau as torch
    from flambeau.distributed.algorithms.model_averaging.hierarchical_model_averager import (
        HierarchicalModelAverager,
    )

    dist.init_process_group()
    averager, seen = HierarchicalModelAverager({2: 2, 4: 4}, warmup_steps=1), []
    p = torch.nn.Parameter(torch.full((2,), float(rank)))
    p.grad = torch.zeros(2)
    for _ in range(5):
        averager.average_parameters([p])
        seen.append(p[1].item())
    with pytest.raises(ValueError, match="must be equal to the size of arg ``process_group`` 4"):
        HierarchicalModelAverager({2: 2})
    dist.destroy_process_group()
    return seen


def test_averages_of_groups_and_of_all():
    found = ranks.values(in_groups, 4)
    assert found == [[r, r, pair, pair, 1.5] for r, pair in enumerate((0.5, 0.5, 2.5, 2.5))]


def apart(rank, size):
    """Steps that all ranks make together, then each by itself with an average after two."""
    import flambeau.distributed as dist
    import flambeau as torch
    from flambeau.distributed.algorithms.ddp_comm_hooks import (
        DDPCommHookType,
        post_localSGD_hook as hooks,
        register_ddp_comm_hook,
    )
    from flambeau.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from flambeau.distributed.optim import PostLocalSGDOptimizer

    def model_of():
        model = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        return torch.nn.parallel.DistributedDataParallel(model)

    def backward(model):
        model.zero_grad()
        model(torch.full((1, 1), 1.0 + 2.0 * rank)).sum().backward()  # 1 and 3, 2 in the mean
        return model.module.weight.grad.item()

    dist.init_process_group()
    alone, seen = dist.new_subgroups(1)[0], []
    for subgroup, after in (alone, True), (alone, False), (dist.group.WORLD, True):
        model = model_of()
        state = hooks.PostLocalSGDState(None, subgroup, 2, after)
        model.register_comm_hook(state, hooks.post_localSGD_hook)
        optimizer = PostLocalSGDOptimizer(
            torch.optim.SGD(model.parameters(), lr=1.0), PeriodicModelAverager(2, warmup_steps=2)
        )
        for _ in range(5):
            backward(model)
            optimizer.step()
            seen.append(model.module.weight.item())
    kept = optimizer.state_dict()
    optimizer.averager.step = 0
    optimizer.load_state_dict(kept)
    assert optimizer.averager.step == kept["step"] == 5
    with pytest.warns(UserWarning, match="does not contain a step counter"):
        optimizer.load_state_dict({k: v for k, v in kept.items() if k != "step"})
    assert optimizer.averager.step == 0
    gradients = []
    for kind in "NOOP", "ALLREDUCE", "BF16_COMPRESS", "POWER_SGD", "QUANTIZE_PER_TENSOR":
        register_ddp_comm_hook(DDPCommHookType[kind], model := model_of())
        gradients.append(backward(model))
    dist.destroy_process_group()
    return seen, gradients


def test_ranks_train_apart_after_some_steps():
    for rank, (seen, gradients) in enumerate(ranks.values(apart, 2)):
        own = 1 + 2 * rank
        # Two steps by the mean, 2; of the third and the fifth all ranks have the mean again.
        parted = [-2, -4, -6, -6 - own, -10]
        assert seen == [*parted, *parted, -2, -4, -6, -8, -10]
        assert gradients == [own, 2, 2, 2, 2]


def test_a_sampler_begins_in_the_middle():
    import flambeau as torch
    from flambeau.distributed.elastic.utils.data import ElasticDistributedSampler

    samplers = [ElasticDistributedSampler(range(11), 2, r, start_index=4) for r in range(2)]
    shares = [list(s) for s in samplers]
    assert [len(s) for s in samplers] == [4, 4] == [len(share) for share in shares]
    assert sorted({*shares[0], *shares[1]}) == list(range(4, 11))
    for sampler in samplers:
        sampler.set_epoch(1)
    assert [list(s) for s in samplers] != shares
    with pytest.raises(ValueError, match="less than dataset size 11"):
        ElasticDistributedSampler(range(11), 2, 0, start_index=11)
    from flambeau.distributed.constants import default_pg_timeout

    assert default_pg_timeout is torch.distributed.default_pg_timeout
