"""What two processes of either engine do for `dist_bench.py`: collectives of several sizes, and
steps of data parallel and sharded training. Each row is a function that is called again and
again."""

MLP = "DDP step, digits MLP"
CNN = "DDP step, CNN"
FSDP = "FSDP2 step, MLP of 4 x 512"


def collectives(torch, dist):
    """Name and call; sizes are those of one rank's part."""
    ranks = dist.get_world_size()
    for bytes_ in 4, 1 << 10, 1 << 20, 64 << 20:
        x = torch.ones(bytes_ // 4)
        yield f"all_reduce {text(bytes_)}", lambda x=x: dist.all_reduce(x)
    x, whole = torch.ones(1 << 18), torch.ones(ranks << 18)
    yield "broadcast 1 MiB", lambda: (dist.broadcast(x, 0), dist.barrier())
    yield "reduce_scatter 1 MiB", lambda: dist.reduce_scatter_tensor(x, whole)
    for bytes_ in 1 << 20, 64 << 20:
        own, parts = torch.ones(bytes_ // 4), [torch.empty(bytes_ // 4) for _ in range(ranks)]
        yield f"all_gather {text(bytes_)}", lambda o=own, p=parts: dist.all_gather(p, o)


def text(bytes_):
    """1 KiB, 64 MiB"""
    for unit in "B", "KiB", "MiB":
        if bytes_ < 1024:
            return f"{bytes_} {unit}"
        bytes_ //= 1024
    raise ValueError("too large for a benchmark")


def models(nn):
    """The digits example's MLP, and a CNN of half a million parameters, with their images' side."""
    mlp = nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)
    cnn = (
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10)),
    )
    yield MLP, nn.Sequential(*mlp), 8
    yield CNN, nn.Sequential(*cnn), 28


def step_of(torch, model, x, y):
    """A training step as one call."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def trainings(torch):
    """Name and call of each training's step."""
    for name, model, side in models(torch.nn):
        x, y = torch.randn(64, 1, side, side), torch.randint(0, 10, (64,))
        yield name, step_of(torch, torch.nn.parallel.DistributedDataParallel(model), x, y)
    from importlib import import_module

    fully_shard = import_module(f"{torch.__name__}.distributed.fsdp").fully_shard
    layers = [torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(4)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(512, 10))
    for layer in layers:
        fully_shard(layer)
    fully_shard(model)
    yield FSDP, step_of(torch, model, torch.randn(64, 512), torch.randint(0, 10, (64,)))
