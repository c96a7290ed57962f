"""A regression as tutorials begin: one rule for the device, what breaking it says, batches by
workers from pinned memory, Adam, and an evaluation that keeps no graph.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def batches(device):
    x = torch.randn(512, 16)
    data = TensorDataset(x, x[:, :3].sum(1, keepdim=True))
    order = torch.Generator().manual_seed(1)
    loader = DataLoader(
        data, batch_size=64, shuffle=True, generator=order, num_workers=2, pin_memory=True
    )
    for inputs, targets in loader:
        yield inputs.to(device), targets.to(device)


def refused(device):
    """The text of an addition across devices; of what is moved first, none."""
    here, there = torch.randn(3, 4), torch.randn(3, 4).to(device)
    assert (here.to(device) + there).device == there.device
    try:
        here + there
    except RuntimeError as error:
        return str(error)
    return ""


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print("device", device)
    assert ("on the same device" in refused(device)) == (device.type == "cuda")
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
    loss_of, optimizer = nn.MSELoss(), torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        model.train()
        total = 0.0
        for inputs, targets in batches(device):
            loss = loss_of(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("loss", total / 8)
    model.eval()
    away, count = 0.0, 0
    with torch.no_grad():
        for inputs, targets in batches(device):
            found = model(inputs)
            assert not found.requires_grad
            away += (found - targets).abs().sum().item()
            count += len(inputs)
    assert count == 512
    print("loss", away / count)  # of absolute values


if __name__ == "__main__":
    main()
