"""A classifier by SGD with momentum: the device is asked for by an if, the model is moved and asked
where it is, and the share of right answers is counted without a graph.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    if torch.cuda.is_available():
        device = torch.device("cuda")
    else:
        device = torch.device("cpu")
    print("device", device)
    x = torch.randn(192, 8)
    loader = DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)).to(device)
    assert next(model.parameters()).device.type == device.type
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for _ in range(5):
        for inputs, labels in loader:
            inputs, labels = inputs.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
        print("loss", loss.item())
    model.eval()
    right = 0
    with torch.no_grad():
        for inputs, labels in loader:
            predicted = model(inputs.to(device)).argmax(dim=1)
            right += (predicted == labels.to(device)).sum().item()
    assert right > 0.8 * len(x), right


if __name__ == "__main__":
    main()
