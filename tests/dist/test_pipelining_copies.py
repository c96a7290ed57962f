"""Stages whose parameters have copies on, or lie over, the ranks of another dimension of a mesh: in
each order the gradients are those of the whole model and the joined batch, of each step and added
up over two, and buffers are the same on all copies."""

import pytest

from tests.dist import ranks

PARTS = 4
ORDERS = {"ScheduleGPipe": 1, "Schedule1F1B": 1, "ScheduleInterleaved1F1B": 2,
          "ScheduleLoopedBFS": 2}  # fmt: skip


def layers(torch, count):
    class Counting(torch.nn.Linear):
        """Keeps a mean of its inputs, which differ between copies."""

        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            if torch.is_grad_enabled():
                self.seen += x.detach().mean()
            return super().forward(x).tanh()

    torch.manual_seed(0)
    return [Counting(4, 4) for _ in range(count)]


def wrapped(torch, how, module, mesh):
    from flambeau.distributed._composable import replicate
    from flambeau.distributed.fsdp import fully_shard

    ddp = torch.nn.parallel.DistributedDataParallel
    if how == "ddp":
        return ddp(module, process_group=mesh.get_group(), find_unused_parameters=True)
    if how == "ddp inside":
        return torch.nn.Sequential(ddp(module, process_group=mesh.get_group()))
    if how == "replicate":
        return replicate(module, process_group=mesh.get_group())
    return fully_shard(module, mesh=mesh)


def train(rank, size, how):
    import flambeau as torch
    import flambeau.distributed as dist
    from flambeau.distributed import pipelining
    from flambeau.distributed.device_mesh import init_device_mesh

    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("pp", "dp"))
    pp, place = mesh["pp"].get_group(), mesh["dp"].get_local_rank()
    first, last = mesh["pp"].get_local_rank() == 0, mesh["pp"].get_local_rank() == 1
    loss_of, found = torch.nn.functional.mse_loss, {}
    for name, local in ORDERS.items():
        count = 2 * local
        mine, whole = layers(torch, count), layers(torch, count)
        stages = [
            pipelining.PipelineStage(
                wrapped(torch, how, mine[i], mesh["dp"]), i, count, "cpu", group=pp
            )
            for i in range(dist.get_rank(pp), count, 2)
        ]
        given = stages if local > 1 else stages[0]
        schedule = getattr(pipelining, name)(given, PARTS, loss_fn=loss_of)
        near = []
        for step in range(4):
            generator = torch.Generator().manual_seed(step)
            x, y = (torch.randn(16, 4, generator=generator) for _ in range(2))
            here = slice(8 * place, 8 * place + 8)
            schedule.step(*([x[here]] if first else []), target=y[here] if last else None)
            out = x
            for module in whole:
                out = module(out)
            loss_of(out, y).backward()
            for stage in stages:
                parameters = whole[stage.stage_index].parameters()
                for p, wanted in zip(stage.submod.parameters(), parameters, strict=True):
                    grad = p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad
                    right = wanted.grad
                    if step == 3:  # scale_grads divides what was there before, too
                        right = right - before[wanted] * (1 - 1 / PARTS)
                    near.append(torch.allclose(grad, right, atol=1e-6))
            before = {p: p.grad.clone() for module in whole for p in module.parameters()}
            if step < 2:
                for stage in stages:
                    stage.submod.zero_grad()
                for module in whole:
                    module.zero_grad()
        schedule.eval(*([x[here]] if first else []), target=y[here] if last else None)
        if how.startswith("ddp"):
            for stage in stages:
                for buffer in stage.submod.buffers():
                    copies = [torch.empty(1) for _ in range(2)]
                    dist.all_gather(copies, buffer, group=mesh["dp"].get_group())
                    near.append(bool(copies[0] == copies[1] != 0))
        found[name] = near
    dist.destroy_process_group()
    return found


@pytest.mark.parametrize("how", ["ddp", "ddp inside", "replicate", "fully_shard"])
def test_gradients_of_copied_stages_are_those_of_the_joined_batch(how):
    for found in ranks.values(train, 4, how):
        assert list(found) == list(ORDERS)
        assert all(near and all(near) for near in found.values()), found
