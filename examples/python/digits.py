#!/usr/bin/env python3
"""Trains a classifier of handwritten digits, scores it on held-out images, and saves its weights.

- `python examples/python/digits.py`: a perceptron, on the GPU if there is one
- `python examples/python/digits.py --conv --plot curves.svg`: convolutions, and curves of the run
- `python examples/python/digits.py --weights FILE`: scores what any of the three languages saved

`examples/c/digits.c` and `examples/rust/` do the same with the same data and read the same weights:
given one file, the three write the same logits, bit for bit. `FLAMBEAU_SIM=devices=1,as=cuda` lets
it take its GPU path on a laptop.
"""

import argparse
import sys
import time
from pathlib import Path

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.safetensors import load_file, save_file
from flambeau.utils.data import DataLoader, TensorDataset
from flambeau.utils.plot import Plot
from flambeau.utils.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
SMOOTHING = 0.1  # of labels while training: worth a percent of accuracy on so few images


def mlp():
    """64 pixels, 256 hidden units, 10 classes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def conv():
    """Two convolutions of 3 by 3, each followed by pooling: 8 by 8 pixels become 2 by 2 of 32
    channels."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


def digits(path):
    """(images, labels) to learn from and (images, labels) held out; pixels from 0 to 1."""
    data = load_file(path)
    return [
        (data[f"{part}.images"].float() / 240, data[f"{part}.labels"].long())
        for part in ("train", "test")
    ]


def choose_device(name):
    """The device asked for, or a GPU if there is one, and what to say about it."""
    device = torch.device(
        ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name
    )
    if device.type == "cuda":
        device = torch.device("cuda", device.index or 0)
        return device, f"{device} ({torch.cuda.get_device_name(device)})"
    if name != "auto":
        return device, str(device)
    reason = torch.cuda.unavailable_reason()
    return torch.device("cpu"), f"cpu ({torch.get_num_threads()} threads; no GPU: {reason})"


def loss_of(logits, labels):
    return F.cross_entropy(logits, labels, label_smoothing=SMOOTHING)


@torch.no_grad()
def evaluate(model, images, labels):
    """(logits, mean loss, fraction correct)"""
    model.eval()
    logits = model(images)
    correct = (logits.argmax(1) == labels).sum().item()
    return logits, loss_of(logits, labels).item(), correct / len(labels)


def train_epoch(model, loader, optimizer, device, bar):
    """One pass over the loader; the mean loss."""
    model.train()
    total, count = torch.zeros((), device=device), 0
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        loss = loss_of(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(images)  # stays on the device: a step never waits for it
        count += len(images)
        bar.advance(len(images), loss=loss)  # waits for the loss only where it is drawn
    return total.item() / count


def train(model, learn, held_out, device, args):
    """Trains for `args.epochs`; returns the curves, one value per epoch."""
    loader = DataLoader(
        TensorDataset(*learn),
        batch_size=args.batch_size,
        shuffle=True,
        generator=torch.Generator().manual_seed(args.seed),
        num_workers=args.workers,
        persistent_workers=args.workers > 0,
        pin_memory=device.type != "cpu",
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    losses, held_out_losses, accuracies = [], [], []
    images = args.epochs * len(learn[0])
    with Progress(images, "images", device=device, jsonl=args.log) as bar:
        for epoch in range(1, args.epochs + 1):
            losses.append(train_epoch(model, loader, optimizer, device, bar))
            scheduler.step()
            _, held_out_loss, accuracy = evaluate(model, *held_out)
            held_out_losses.append(held_out_loss)
            accuracies.append(100 * accuracy)
            if epoch == 1 or epoch % max(1, args.epochs // 10) == 0:
                bar.say(
                    f"epoch {epoch:3}/{args.epochs}   loss {losses[-1]:.4f}   "
                    f"held out {held_out_loss:.4f}   accuracy {accuracies[-1]:5.1f} %"
                )
        bar.say(f"\ntrained  {bar.done} images, {bar.rate:.0f} per second, in {bar.elapsed:.1f} s")
    return losses, held_out_losses, accuracies


def misread(logits, labels, images, most=6):
    """The first images that were misread, side by side, as text."""
    pairs = list(zip(labels.tolist(), logits.argmax(1).tolist()))
    wrong = [i for i, (label, guess) in enumerate(pairs) if label != guess][:most]
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    shades = " ░▒▓█" if unicode else " .+*#"
    drawn = [
        [[shades[round(4 * p)] * 2 for p in row] for row in images[i, 0].tolist()] for i in wrong
    ]
    lines = ["  ".join("".join(picture[y]) for picture in drawn) for y in range(8)]
    names = "  ".join(f"{f'a {pairs[i][0]}, read as {pairs[i][1]}':16}" for i in wrong)
    return "\n".join(line.rstrip() for line in [*lines, names])


def at_least(least):
    """A whole number from the command line, checked before anything is trained."""

    def number(text):
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return int(text)

    return number


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--conv", action="store_true", help="the small convolutional form")
    p.add_argument(
        "--device",
        default="auto",
        help="cpu, cuda, cuda:1, sim:0; default: cuda if there is one, else cpu",
    )
    p.add_argument("--epochs", type=at_least(1), default=30)
    p.add_argument("--batch-size", type=at_least(1), default=32)
    p.add_argument("--lr", type=float, default=3e-3, help="learning rate at the start")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument(
        "--threads", type=at_least(1), help="for kernels on the CPU; results do not depend on it"
    )
    p.add_argument(
        "--workers",
        type=at_least(0),
        default=2,
        help="that fetch batches; results do not depend on it",
    )
    p.add_argument("--data", default=ROOT / "examples/data/digits.safetensors")
    p.add_argument("--weights", help="score these and train nothing")
    p.add_argument(
        "--save", help="where the weights go; default: build/digits-mlp.safetensors or -conv"
    )
    p.add_argument("--logits", help="write the held-out images' logits, raw f32")
    p.add_argument("--plot", help="write the curves of loss and accuracy, SVG")
    p.add_argument("--log", help="write the progress, a JSON object per line")
    args = p.parse_args()
    if args.save and not args.save.endswith(".safetensors"):
        p.error(f"argument --save: {args.save} does not end with .safetensors")
    return args


def plot(path, form, losses, held_out_losses, accuracies):
    """The curves of a training as one SVG."""
    chart = Plot(f"Handwritten digits, {form}: {accuracies[-1]:.1f} % correct")
    chart.panel("Cross-entropy", x_label="epoch")
    chart.line("training", losses).line("held out", held_out_losses)
    chart.panel("Accuracy", x_label="epoch", unit=" %").line("held out", accuracies)
    chart.write(path)
    print(f"plotted  {path}")


def main():
    args = arguments()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    device, about = choose_device(args.device)
    form = "conv" if args.conv else "mlp"
    model = (conv() if args.conv else mlp()).to(device)
    learn, held_out = digits(args.data)
    held_out = [t.to(device) for t in held_out]
    print(f"flambeau {torch.__version__.partition('+flambeau.')[2]}   digits")
    print(f"device   {about}")
    print(f"model    {form}, {sum(p.numel() for p in model.parameters())} parameters")
    print(f"data     {len(learn[0])} images to learn from, {len(held_out[0])} held out\n")

    if args.weights:
        model.load_state_dict(load_file(args.weights))
    else:
        history = train(model, learn, held_out, device, args)
        path = Path(args.save or ROOT / f"build/digits-{form}.safetensors")
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(model.state_dict(), path)
        print(f"saved    {path}")
        if args.plot:
            plot(args.plot, form, *history)

    begun = time.perf_counter()
    logits, loss, accuracy = evaluate(model, *held_out)
    took = time.perf_counter() - begun
    print(f"scored   {len(logits)} held-out images in {1e3 * took:.1f} ms")
    if args.logits:
        Path(args.logits).write_bytes(logits.cpu().numpy().tobytes())
    if accuracy < 1:
        print("\n" + misread(logits, held_out[1], held_out[0]))
    print(f"\nheld-out accuracy {100 * accuracy:.2f} %   loss {loss:.6f}\n")
    print(torch.accelerator.memory_summary(device, abbreviated=True))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except (OSError, RuntimeError, ValueError) as problem:  # its text says what mends it
        sys.exit(f"digits.py: {problem}")
