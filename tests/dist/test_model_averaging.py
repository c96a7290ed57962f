"""Parameters that ranks average now and then, a sampler that begins in the middle, and modules that
programs import. Two ranks."""

import pytest

from tests.dist import ranks


def averaged(rank, size):
    import flambeau.distributed as dist
    import flambeau as torch
    from flambeau.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from flambeau.distributed.algorithms.model_averaging.utils import average_parameters

    dist.init_process_group()
    p, q = (torch.nn.Parameter(torch.full((n,), float(rank))) for n in (2, 3))
    averager, seen = PeriodicModelAverager(period=2, warmup_steps=1), []
    for _ in range(4):
        averager.average_parameters([p, q])
        seen.append([p.detach().mean().item(), q.detach().mean().item()])
        with torch.no_grad():
            p.add_(float(rank))
    q.grad = torch.ones(3)
    with torch.no_grad():
        q.fill_(float(rank))
    averager.average_parameters([{"params": [p]}, {"params": [q]}])
    averager.average_parameters([{"params": [p]}, {"params": [q]}])
    seen.append([p[0].item(), q[0].item()])
    average_parameters(iter([p]), dist.group.WORLD)
    seen.append(p[0].item())
    with pytest.raises(ValueError, match="positive"):
        PeriodicModelAverager(0)
    dist.destroy_process_group()
    return seen


def test_averages_after_a_period():
    zero, one = ranks.values(averaged, 2)
    # Steps 1 and 3 average; between them rank 1 goes on by itself.
    assert zero == [[0, 0], [1, 0.5], [1, 0.5], [2, 0.5], [2, 0.5], 2.5]
    assert one == [[1, 1], [1, 0.5], [2, 0.5], [2, 0.5], [3, 0.5], 2.5]


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
