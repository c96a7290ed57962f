"""Training steps whose launches are counted, the same lines in flambeau and in PyTorch: forward,
backward, clipping and AdamW of a small GPT (two of GPT-2's blocks) and of a ResNet-18 block with
its shortcut's convolution. Sizes are small; large ones launch more only where that moves less: of
many indices, and of convolutions of half types with many channels.
"""

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 64, 32, 2, 2, 16, 2


def gpt(torch, device, dtype):
    """The model and its loss."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.attend = nn.Linear(WIDTH, 3 * WIDTH)
            self.project = nn.Linear(WIDTH, WIDTH)
            self.widen = nn.Linear(WIDTH, 4 * WIDTH)
            self.narrow = nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            n, length, width = x.shape
            parts = self.attend(self.ln_1(x)).split(width, dim=2)
            q, k, v = (p.view(n, length, HEADS, -1).transpose(1, 2) for p in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(y.transpose(1, 2).reshape(n, length, width))
            return x + self.narrow(F.gelu(self.widen(self.ln_2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
            self.ln, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, codes):
            x = self.tokens(codes) + self.places(torch.arange(LENGTH, device=codes.device))
            return self.head(self.ln(self.blocks(x)))

    model = Gpt().to(device, dtype)
    codes, target = (torch.randint(0, VOCABULARY, (BATCH, LENGTH)).to(device) for _ in range(2))
    return model, lambda: F.cross_entropy(model(codes).view(-1, VOCABULARY), target.view(-1))


def residual(torch, device, dtype):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(outputs))
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            y += self.downsample(x)
            return self.relu(y)

    model = Block(8, 16, 2).to(device, dtype)
    x = torch.randn(2, 8, 8, 8).to(device, dtype)
    return model, lambda: model(x).mean()


MODELS = {"GPT of two blocks": gpt, "ResNet-18 block": residual}


def phases(torch, make, device, dtype, **options):
    """The parts of a step, in their order; `options` are those that PyTorch has for lists."""
    model, loss = make(torch, device, dtype)
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    clip, kept = torch.nn.utils.clip_grad_norm_, []
    return {
        "zero_grad": optimizer.zero_grad,
        "forward": lambda: kept.append(loss()),
        "backward": lambda: kept.pop().backward(),
        "clip": lambda: clip(model.parameters(), 1.0, **options),
        "AdamW": optimizer.step,
    }
