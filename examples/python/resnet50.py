#!/usr/bin/env python3
"""Trains ResNet-50, version 1.5, on images that are made up, or on those of a folder.

- `python examples/python/resnet50.py --dtype bf16 --channels-last`: on 512 images of its own, which
  says how fast it trains
- `python examples/python/resnet50.py --images DIR`: `images.npy` there is uint8 [n, 3, size, size],
  `labels.npy` their classes, [n]
- `.venv/bin/flambeau-run --nproc-per-node 8 examples/python/resnet50.py ...`: in eight processes
- `--blocks 1 1 1 1 --width 8 --size 32 --classes 10`: a small one, for a laptop
"""

from pathlib import Path

import flambeau as torch
import flambeau.nn.functional as F
import numpy as np
import rates
import training
from flambeau import nn
from flambeau.safetensors import save_file
from flambeau.utils.data import DataLoader, TensorDataset
from training import at_least


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut. Version 1.5 strides in the second, not in the first
    (Goyal et al., 2017, arXiv 1706.02677, section 5.1), and the last norm begins at 0, so that the
    block begins as its shortcut."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            convolution = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(convolution, nn.BatchNorm2d(outputs))
        nn.init.zeros_(self.bn3.weight)

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return F.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet(nn.Module):
    """Images in, [n, 3, size, size]; logits of their classes out (He et al., 2015, arXiv
    1512.03385). Parameters have torchvision's names."""

    def __init__(self, blocks, width, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        inputs = width
        for i, count in enumerate(blocks):
            layer = nn.Sequential()
            for k in range(count):
                stride = 2 if i > 0 and k == 0 else 1
                layer.append(Bottleneck(inputs, width * 2**i, stride))
                inputs = 4 * width * 2**i
            setattr(self, f"layer{i + 1}", layer)
        self.fc = nn.Linear(inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def arguments():
    p = training.options(
        __doc__.split("\n\n")[0],
        steps=500, batch_size=64, lr=0.1, warmup=50, weight_decay=5e-5, clip=0.0,
    )  # fmt: skip
    p.add_argument("--images", metavar="DIR", help="images.npy and labels.npy; default: made up")
    p.add_argument("--count", type=at_least(20), default=512, help="of images that are made up")
    p.add_argument("--size", type=at_least(8), default=224, help="of those, in pixels")
    p.add_argument("--classes", type=at_least(2), default=1000)
    p.add_argument("--blocks", type=at_least(1), nargs=4, default=(3, 4, 6, 3))
    p.add_argument("--width", type=at_least(1), default=64, help="channels of the first layer")
    p.add_argument("--momentum", type=at_least(0, float), default=0.9)
    p.add_argument("--nesterov", action="store_true")
    p.add_argument("--label-smoothing", type=at_least(0, float), default=0.1)
    p.add_argument("--channels-last", action="store_true", help="the layout that GPUs prefer")
    return p.parse_args()


def made_up(args):
    """Noise, in which each class has a pattern of its own."""
    generator = torch.Generator().manual_seed(args.seed)
    labels = torch.randint(0, args.classes, (args.count,), generator=generator)
    patterns = torch.randint(0, 128, (args.classes, 3, 8, 8), generator=generator)
    images = torch.empty(args.count, 3, args.size, args.size, dtype=torch.uint8)
    for image, label in zip(images, labels.tolist()):
        noise = torch.randint(0, 128, image.shape, generator=generator, dtype=torch.uint8)
        pattern = F.interpolate(patterns[label][None].float(), size=image.shape[1:])
        image.copy_(noise + pattern[0].to(torch.uint8))
    return images, labels


def read(folder, classes):
    """The images and labels of a folder; images stay on disk until they are needed."""
    images = np.load(Path(folder) / "images.npy", mmap_mode="c")
    labels = np.load(Path(folder) / "labels.npy")
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != 3:
        raise ValueError(
            f"{folder}/images.npy is {images.dtype} {list(images.shape)}; "
            "it must be uint8 [n, 3, height, width]"
        )
    if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{folder}/labels.npy is {labels.dtype} {list(labels.shape)}; "
            f"it must be integers [{len(images)}], one for each image"
        )
    if len(images) < 10:
        raise ValueError(f"{folder}/images.npy has {len(images)} images; ten are the least")
    if not 0 <= labels.min() <= labels.max() < classes:
        raise ValueError(
            f"{folder}/labels.npy has classes from {labels.min()} to {labels.max()}; "
            f"they must be from 0 to below --classes {classes}"
        )
    return torch.from_numpy(images), torch.from_numpy(labels.astype(np.int64))


def prepared(images, args):
    """Images as the model takes them: about 0, of about unit spread."""
    x = (images.float() - 120) / 60
    return x.to(memory_format=torch.channels_last) if args.channels_last else x


def flipped(images):
    """Half of the images, at random, seen in a mirror; which, does not depend on the device."""
    chosen = torch.rand(len(images), 1, 1, 1) < 0.5
    return torch.where(chosen.to(images.device, non_blocking=True), images.flip(3), images)


@torch.no_grad()
def evaluate(model, held_out, job, args):
    """How many of the held-out images it names right."""
    model.eval()
    right = torch.zeros((), dtype=torch.int64, device=job.device)
    for images, labels in DataLoader(held_out, args.batch_size):
        with job.autocast():
            logits = model(prepared(images.to(job.device), args))
        right += (logits.argmax(1) == labels.to(job.device)).sum()
    model.train()
    return f"held-out accuracy {100 * right.item() / len(held_out):.1f} %"


def main():
    args = arguments()
    if args.nesterov and not args.momentum:
        raise ValueError("--nesterov needs a --momentum above 0")
    job = training.Job(args)
    images, labels = read(args.images, args.classes) if args.images else made_up(args)
    model = ResNet(args.blocks, args.width, args.classes)
    if args.channels_last:
        model = model.to(memory_format=torch.channels_last)
    parameters = sum(p.numel() for p in model.parameters())
    job.say(f"device   {job}")
    job.say(f"model    ResNet, {args.blocks} blocks, {parameters} parameters")

    kept = len(images) * 9 // 10  # the rest is held out
    data = TensorDataset(images[:kept], labels[:kept])
    held_out = TensorDataset(images[kept:], labels[kept:])
    each = args.batch_size * args.accumulate
    sampler = training.Passes(len(data), args.steps * each, job, args.seed)
    loader = DataLoader(data, each, sampler=sampler, pin_memory=job.device.type == "cuda")
    trained = job.everywhere(model)
    optimizer = torch.optim.SGD(
        training.groups(model, args.weight_decay),
        lr=args.lr, momentum=args.momentum, nesterov=args.nesterov,
    )  # fmt: skip
    with torch.device("meta"):
        flops = rates.of_images(ResNet(args.blocks, args.width, args.classes), images.shape[2])
    run = training.Training(
        job, args, trained, optimizer, loader, unit="images", units=each, flops=flops
    )

    def loss_of(part, images, labels):
        logits = trained(prepared(flipped(images), args))
        return F.cross_entropy(logits, labels, label_smoothing=args.label_smoothing)

    run.run(loss_of, lambda: evaluate(model, held_out, job, args))
    if args.save and job.rank == 0:
        save_file(model.state_dict(), args.save)
        print(f"saved    {args.save}")


if __name__ == "__main__":
    training.program("resnet50.py", main)
