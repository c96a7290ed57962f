"""What models.py times: each workload is a function of the package, flambeau or PyTorch, that
returns one step. Both packages run the same lines. WORKLOADS names the least ratio asked for,
PyTorch's time over ours.
"""

from __future__ import annotations

from typing import NamedTuple


class Workload(NamedTuple):
    make: object  # package -> step
    bar: float  # the least ratio


WORKLOADS: dict[str, Workload] = {}


def workload(name, bar=1):
    def keep(make):
        WORKLOADS[name] = Workload(make, bar)
        return make

    return keep


def training(torch, model, x, target, optimizer=None, loss=None):
    """One step: zero_grad, forward, backward, update."""
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=1e-3)
    loss = loss or torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad()
        loss(model(x), target).backward()
        optimizer.step()

    return step


def with_backward(call, *leaves):
    """call, summed by backward into the leaves' gradients, which each step starts anew."""
    y = call()
    grad = y.detach().clone()

    def step():
        for leaf in leaves:
            leaf.grad = None
        call().backward(grad)

    return step


def labels(torch, n, classes):
    return torch.randint(0, classes, (n,))


@workload("MLP 16-64-1, batch 64", 6)
def seeds_mlp(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    return training(torch, model, torch.randn(64, 16), torch.randn(64, 1), loss=nn.MSELoss())


@workload("MLP 64-32-10, batch 32", 6)
def digits_mlp(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    return training(torch, model, torch.rand(32, 64), labels(torch, 32, 10))


@workload("MLP 784-512-512-10, batch 128")
def mnist_mlp(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    return training(torch, model, torch.rand(128, 784), labels(torch, 128, 10))


@workload("CNN 32-64 on 28x28, batch 64")
def cnn(torch):
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10)),
    )
    return training(torch, model, torch.rand(64, 1, 28, 28), labels(torch, 64, 10))


def conv_bn_relu(nn, n_in, n_out, **options):
    options = {"padding": 1, "bias": False} | options
    return nn.Conv2d(n_in, n_out, 3, **options), nn.BatchNorm2d(n_out), nn.ReLU()


@workload("conv-BN-ReLU stack on 32x32, batch 32")
def conv_stack(torch):
    nn = torch.nn
    model = nn.Sequential(
        *conv_bn_relu(nn, 3, 32),
        *conv_bn_relu(nn, 32, 32),
        *conv_bn_relu(nn, 32, 64, stride=2),
        *conv_bn_relu(nn, 64, 64),
        *conv_bn_relu(nn, 64, 128, stride=2),
        *conv_bn_relu(nn, 128, 128),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
    )
    return training(torch, model, torch.rand(32, 3, 32, 32), labels(torch, 32, 10))


@workload("depthwise conv 64 on 32x32, batch 32, backward")
def depthwise(torch):
    conv = torch.nn.Conv2d(64, 64, 3, padding=1, groups=64)
    x = torch.randn(32, 64, 32, 32, requires_grad=True)
    return with_backward(lambda: conv(x), x, *conv.parameters())


class Recurrent:
    """A character model around the recurrent layer of the name: embedding, two layers, linear."""

    def __init__(self, torch, name):
        nn = torch.nn
        self.parts = nn.ModuleList(
            [nn.Embedding(96, 128), getattr(nn, name)(128, 128, 2, batch_first=True)]
        )
        self.parts.append(nn.Linear(128, 96))

    def parameters(self):
        return self.parts.parameters()

    def __call__(self, tokens):
        embed, layers, head = self.parts
        return head(layers(embed(tokens))[0]).flatten(0, 1)


def recurrent(torch, name):
    tokens = torch.randint(0, 96, (32, 65))
    target = tokens[:, 1:].flatten()
    return training(torch, Recurrent(torch, name), tokens[:, :-1], target)


@workload("LSTM 2x128, batch 32 of 64")
def lstm(torch):
    return recurrent(torch, "LSTM")


@workload("GRU 2x128, batch 32 of 64")
def gru(torch):
    return recurrent(torch, "GRU")


def gpt_block(torch, width, heads):
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def attention(self, x):
            n, length, _ = x.shape
            parts = self.qkv(x).split(width, dim=2)
            q, k, v = (
                part.view(n, length, heads, width // heads).transpose(1, 2) for part in parts
            )
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.project(y.transpose(1, 2).contiguous().view(n, length, width))

        def forward(self, x):
            x = x + self.attention(self.norms[0](x))
            return x + self.mlp(self.norms[1](x))

    return Block()


@workload("GPT, 4 layers of 128, batch 16 of 128")
def gpt(torch):
    nn = torch.nn
    tokens = torch.randint(0, 65, (16, 129))
    places = torch.arange(128)
    embeddings = nn.ModuleList([nn.Embedding(65, 128), nn.Embedding(128, 128)])
    blocks = nn.Sequential(*(gpt_block(torch, 128, 4) for _ in range(4)), nn.LayerNorm(128))
    model = nn.ModuleList([embeddings, blocks, nn.Linear(128, 65, bias=False)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def forward(x):
        y = model[2](blocks(embeddings[0](x) + embeddings[1](places)))
        return y.flatten(0, 1)

    return training(torch, forward, tokens[:, :-1], tokens[:, 1:].flatten(), optimizer)


@workload("attention 16x4x256x32, causal, backward")
def attention(torch):
    q, k, v = (torch.randn(16, 4, 256, 32, requires_grad=True) for _ in range(3))
    call = torch.nn.functional.scaled_dot_product_attention
    return with_backward(lambda: call(q, k, v, is_causal=True), q, k, v)


@workload("softmax 4096x1024, backward")
def softmax(torch):
    x = torch.randn(4096, 1024, requires_grad=True)
    return with_backward(lambda: torch.softmax(x, 1), x)


@workload("layer norm 4096x1024, backward")
def layer_norm(torch):
    norm = torch.nn.LayerNorm(1024)
    x = torch.randn(4096, 1024, requires_grad=True)
    return with_backward(lambda: norm(x), x, *norm.parameters())


@workload("batch norm 32x64x32x32, backward")
def batch_norm(torch):
    norm = torch.nn.BatchNorm2d(64)
    x = torch.randn(32, 64, 32, 32, requires_grad=True)
    return with_backward(lambda: norm(x), x, *norm.parameters())


@workload("GELU 4M, backward")
def gelu(torch):
    x = torch.randn(1 << 22, requires_grad=True)
    return with_backward(lambda: torch.nn.functional.gelu(x), x)


@workload("cross-entropy 512x32000, backward")
def cross_entropy(torch):
    x = torch.randn(512, 32000, requires_grad=True)
    target = labels(torch, 512, 32000)
    return with_backward(lambda: torch.nn.functional.cross_entropy(x, target), x)


@workload("embedding 32000x128, 4096 rows, backward")
def embedding(torch):
    table = torch.nn.Embedding(32000, 128)
    rows = labels(torch, 4096, 32000)
    return with_backward(lambda: table(rows), table.weight)


@workload("GEMM 1024")
def gemm(torch):
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    return lambda: torch.mm(a, b)


@workload("row sums 4096x1024")
def row_sums(torch):
    x = torch.randn(4096, 1024)
    return lambda: x.sum(1)


@workload("sort 1M")
def sort_long(torch):
    x = torch.randn(1 << 20)
    return lambda: torch.sort(x)


@workload("sort 1024x1024")
def sort_rows(torch):
    x = torch.randn(1024, 1024)
    return lambda: torch.sort(x)


@workload("randn 4M")
def randn(torch):
    return lambda: torch.randn(1 << 22)


@workload("loader epoch, 8192 of 784, batch 64")
def loader(torch):
    data = torch.utils.data
    pairs = data.TensorDataset(torch.rand(8192, 784), labels(torch, 8192, 10))
    batches = data.DataLoader(pairs, batch_size=64, shuffle=True)
    return lambda: [x.shape for x, _ in batches]


@workload("pointwise chain 4M")
def chain(torch):
    x = torch.randn(1 << 22)
    return lambda: torch.relu(x * 2 + 1).sub(0.5).mul(x).tanh()


@workload("pointwise chain 4M, backward")
def chain_backward(torch):
    x = torch.randn(1 << 22, requires_grad=True)
    return with_backward(lambda: torch.sigmoid(torch.relu(x * 2 + 1) * x), x)


def optimizer(torch, name, **options):
    leaves = [torch.randn(n, 512, requires_grad=True) for n in (784, 512, 512, 10, 1) * 4]
    for leaf in leaves:
        leaf.grad = torch.randn_like(leaf)
    return getattr(torch.optim, name)(leaves, lr=1e-3, **options).step


@workload("SGD with momentum, 20 tensors, 3.7M")
def sgd(torch):
    return optimizer(torch, "SGD", momentum=0.9)


@workload("Adam, 20 tensors, 3.7M")
def adam(torch):
    return optimizer(torch, "Adam")


@workload("AdamW, 20 tensors, 3.7M")
def adamw(torch):
    return optimizer(torch, "AdamW")


@workload("RMSprop, 20 tensors, 3.7M")
def rmsprop(torch):
    return optimizer(torch, "RMSprop")
