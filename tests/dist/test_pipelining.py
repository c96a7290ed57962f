"""Models in stages on three ranks: outputs, losses and gradients of both orders are those
of the whole model in one process, and what stages and schedules cannot do is said."""

import pytest

from tests.dist import ranks

PARTS = 4


def layers(torch, size):
    torch.manual_seed(0)
    nn = torch.nn
    widths = [5, 7, 6, 3][:size] + [2]
    return [
        nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in zip(widths, widths[1:], strict=False)
    ]


def two_outputs(torch, stages):
    """The first stage gives an integer beside its output, and the second takes both."""

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = stages[0]

        def forward(self, x, scale=1.0):
            return self.inner(x) * scale, (x > 0).sum(1)

    class Second(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = stages[1]

        def forward(self, x, counts):
            return self.inner(x * counts.unsqueeze(1))

    return [First(), Second(), *stages[2:]]


def train(rank, size):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

    dist.init_process_group("gloo")
    loss_of, first, last = torch.nn.functional.mse_loss, rank == 0, rank == size - 1
    found = []
    for kind, parts, mean in (
        (ScheduleGPipe, PARTS, True),
        (Schedule1F1B, PARTS, True),
        (Schedule1F1B, 1, True),
        (Schedule1F1B, 8, False),
    ):
        mine, whole = (two_outputs(torch, layers(torch, size)) for _ in range(2))
        stage = PipelineStage(mine[rank], rank, size, "cpu")
        schedule = kind(stage, parts, loss_fn=loss_of, scale_grads=mean)
        optimizer = torch.optim.SGD(mine[rank].parameters(), lr=0.1)
        reference = torch.optim.SGD([p for m in whole for p in m.parameters()], lr=0.1)
        for step in range(3):
            generator = torch.Generator().manual_seed(step)
            x, y = (torch.randn(16, n, generator=generator) for n in (5, 2))
            optimizer.zero_grad()
            reference.zero_grad()
            losses = [3]
            out = schedule.step(*([x] if first else []), target=y if last else None, losses=losses,
                                **({"scale": 0.5} if first else {}))  # fmt: skip
            wanted = whole[0](x, scale=0.5)
            for module in whole[1:]:
                wanted = module(*wanted) if isinstance(wanted, tuple) else module(wanted)
            loss = loss_of(wanted, y)
            (loss if mean else loss * parts).backward()
            pairs = zip(mine[rank].parameters(), whole[rank].parameters(), strict=True)
            found.append(all(torch.allclose(a.grad, b.grad, atol=1e-6) for a, b in pairs))
            if last:
                found.append(torch.allclose(out, wanted, atol=1e-6) and not out.requires_grad)
                found.append(len(losses) == parts)
                found.append(abs(sum(losses).item() / parts - loss.item()) < 1e-6)
            else:
                found.append(out is None)
            optimizer.step()
            reference.step()
        out = schedule.eval(*([x] if first else []), target=y if last else None)
        with torch.no_grad():
            wanted = whole[0](x)
            for module in whole[1:]:
                wanted = module(*wanted) if isinstance(wanted, tuple) else module(wanted)
        found.append(torch.allclose(out, wanted, atol=1e-6) if last else out is None)
    found += refused(torch, rank, size)
    dist.destroy_process_group()
    return found


def refused(torch, rank, size):
    """What raises, before anything is sent."""
    from flambeau.distributed import pipelining
    from flambeau.distributed.pipelining.schedules import get_schedule_class

    stage = pipelining.PipelineStage(torch.nn.Linear(2, 2), rank, size, "cpu")
    schedule = pipelining.ScheduleGPipe(stage, 3)
    with pytest.raises(ValueError, match="cannot be cut into 3 equal parts"):
        schedule.step(torch.ones(4, 2))
    with pytest.raises(ValueError, match="n_microbatches must be above 0, got 0"):
        pipelining.ScheduleGPipe(stage, 0)
    with pytest.raises(ValueError, match=f"Stage index 5 is out of range of {size}"):
        pipelining.PipelineStage(stage.submod, 5, size, "cpu")
    with pytest.raises(NotImplementedError, match="each rank has the one stage of its number"):
        pipelining.PipelineStage(stage.submod, rank, 2 * size, "cpu")
    with pytest.raises(NotImplementedError, match="pipeline is unsupported: models are not traced"):
        pipelining.pipeline(stage.submod, (torch.ones(1, 2),))
    with pytest.raises(NotImplementedError, match="ScheduleInterleaved1F1B is unsupported"):
        get_schedule_class("Interleaved1F1B")(stage, 3)
    return [get_schedule_class("1f1b") is pipelining.Schedule1F1B]


def test_stages_train_as_the_whole_model():
    for found in ranks.values(train, 3):
        assert found and all(found), found
