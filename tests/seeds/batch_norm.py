"""A module of one's own with buffers, which move with it in place; what a GPU's tensors refuse; the
way back to NumPy; and DataParallel where there is more than one GPU.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x):
        return self.net(x)


def refuses(kind, f):
    try:
        f()
    except kind:
        return True
    return False


def train(model, device):
    x = torch.randn(96, 4)
    loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(4):
        for inputs, labels in loader:
            optimizer.zero_grad()
            found = model(inputs.to(device))
            loss = nn.functional.cross_entropy(found, labels.to(device))
            loss.backward()
            optimizer.step()
        print("loss", loss.item())


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print("device", device)
    model = Net()
    model.to(device)
    held = [*model.parameters(), *model.buffers()]
    assert len(held) == 9 and {t.device.type for t in held} == {device.type}
    train(model, device)
    on_gpu = device.type == "cuda"
    there = torch.randn(3, 3).to(device)
    assert refuses(RuntimeError, lambda: model(torch.randn(2, 4))) == on_gpu
    assert refuses(TypeError, there.numpy) == on_gpu
    assert there.cpu().numpy().shape == (3, 3)
    model.eval()
    x = torch.randn(8, 4).to(device)
    alone = model(x)
    if torch.cuda.device_count() > 1:
        model = nn.DataParallel(model)
    assert torch.allclose(model(x), alone, atol=1e-5)


if __name__ == "__main__":
    main()
