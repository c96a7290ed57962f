"""Mixed precision with a gradient scaler, then the same network as DataParallel and in a process
group of one, by the backend that a GPU asks for.
"""

import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.amp import GradScaler, autocast


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 10)
        self.fc2 = nn.Linear(10, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def step(model, optimizer, scaler, x, y):
    optimizer.zero_grad()
    with autocast(x.device.type):
        found = model(x)
        loss = nn.functional.cross_entropy(found, y)
    low = torch.float16 if x.device.type == "cuda" else torch.bfloat16
    assert found.dtype == low and loss.dtype == torch.float32
    before = model.fc1.weight.detach().clone()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert model.fc1.weight.dtype == torch.float32
    assert not torch.equal(before, model.fc1.weight), "the step was skipped"
    return loss.item()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print("device", device)
    x = torch.randn(100, 3)
    x, y = x.to(device), (x[:, 0] > 0).long().to(device)
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = GradScaler(device.type, init_scale=1024.0)
    for _ in range(6):
        print("loss", step(model, optimizer, scaler, x, y))
    alone = model(x)
    assert torch.allclose(nn.DataParallel(model)(x), alone, atol=1e-5)
    with tempfile.TemporaryDirectory() as folder:
        backend = "nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, init_method=f"file://{folder}/group", rank=0, world_size=1)
        spread = nn.parallel.DistributedDataParallel(model)
        nn.functional.cross_entropy(spread(x), y).backward()
        assert torch.equal(spread(x), alone) and model.fc1.weight.grad.abs().sum() > 0
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
