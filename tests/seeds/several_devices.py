"""What a program asks about the GPUs: how many, their names, their memory; a model goes to the
second and back; AdamW in mixed precision by the older names; and cuDNN's switches.
"""

import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast


def to_each_gpu(model):
    count = torch.cuda.device_count()
    assert all(torch.cuda.get_device_name(i) for i in range(count))
    for i in range(count):
        model = model.to(f"cuda:{i}")
        assert next(model.parameters()).device.index == i
    model = nn.DataParallel(model.to("cuda"))
    assert model(torch.randn(8, 5, device="cuda")).shape == (8, 5)
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated() > 0
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() > 0


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print("device", device)
    assert torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(x.to(device).to("cpu"), x)
    if torch.cuda.is_available():
        to_each_gpu(nn.Linear(5, 5))
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False
    torch.manual_seed(1)
    model = nn.Linear(5, 1)
    x = torch.randn(16, 5)
    x, y = x.to(device), x.sum(1, keepdim=True).to(device)
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    scaler = GradScaler(init_scale=256.0)
    for _ in range(8):
        optimizer.zero_grad()
        with autocast():
            loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print("loss", loss.item())


if __name__ == "__main__":
    main()
