"""Models and batches of the tests of parameters that lie over ranks, and how far a model is from
the one that a single process has trained."""

STEPS = 20


def message(call, *kinds):
    try:
        call()
    except kinds as error:
        return str(error)
    return "nothing was raised"


def mlp(torch):
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(6, 11), nn.ReLU(inplace=True), nn.Linear(11, 11), nn.Tanh(),
                         nn.Linear(11, 3))  # fmt: skip


def block(torch):
    """A small language model with attention, norms and an embedding that is also the head."""
    torch.manual_seed(0)
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(13, 8)
            self.layers = nn.ModuleList(
                nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
                for _ in range(2)
            )
            self.head = nn.Linear(8, 13, bias=False)
            self.head.weight = self.table.weight

        def forward(self, tokens):
            x = self.table(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    return Model()


def sharded(net, **options):
    """Each part that is worth it, then the rest."""
    from flambeau.distributed.fsdp import fully_shard

    for part in net.layers if hasattr(net, "layers") else [net[0], net[2]]:
        fully_shard(part, **options)
    return fully_shard(net, **options)


def data(torch, net, step, device="cpu"):
    torch.manual_seed(100 + step)
    if hasattr(net, "layers"):
        return torch.randint(0, 13, (4, 5)).to(device)
    return torch.randn(4, 6).to(device)


def loss_of(torch, net, x):
    return net(x).float().square().mean()


def apart(net, ref):
    """The largest difference of any element."""
    pairs = zip(net.parameters(), ref.parameters(), strict=True)
    return max((a.full_tensor().cpu() - b).abs().max().item() for a, b in pairs)
