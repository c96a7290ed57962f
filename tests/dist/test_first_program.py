"""The program that a guide to GPUs ends with, started as its reader would start it: `import torch`,
Gloo or NCCL by whether there is a GPU, DistributedDataParallel, under torchrun's command. Two ranks
with half of every batch each must learn what one process learns from the whole batches."""

import pytest

PROGRAM = """
import torch
import torch.distributed as dist
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 10)
        self.fc2 = nn.Linear(10, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
dist.init_process_group(backend="nccl" if torch.cuda.is_available() else "gloo")
torch.manual_seed(0)
share = slice(dist.get_rank(), None, dist.get_world_size())
inputs = torch.randn(100, 3)
labels = (inputs.sum(1) > 0).long()[share].to(device)
inputs = inputs[share].to(device)
model = nn.parallel.DistributedDataParallel(Net().to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
losses = []
for epoch in range(50):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(inputs), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
say("found", [dist.get_backend(), device.type, dist.get_world_size(), losses])
dist.destroy_process_group()
"""
ON = {"gloo": ("cpu", {}), "nccl": ("cuda", {"FLAMBEAU_SIM": "devices=2,as=cuda"})}


@pytest.mark.parametrize("backend", ON)
def test_two_ranks_learn_what_one_learns(launch, backend):
    device, more = ON[backend]
    joined, halves = (
        launch(
            PROGRAM,
            *("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"),
            module="flambeau.as_torch",
            folder=str(ranks),
            **more,
        )
        for ranks in (1, 2)
    )
    for job in joined, halves:
        assert job.done(0) == ("", "")
    (whole,), found = joined.said("found"), halves.said("found", 2)
    assert whole[:3] == [backend, device, 1]
    assert [one[:3] for one in found] == [[backend, device, 2]] * 2
    mean = [(a + b) / 2 for a, b in zip(found[0][3], found[1][3])]
    assert mean == pytest.approx(whole[3], rel=1e-6) and mean[-1] < 0.2 * mean[0]
