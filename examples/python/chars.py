#!/usr/bin/env python3
"""Learns to write, one character after the other, from a text file; saves what it learned, reads it
back into a new model, and writes.

- `python examples/python/chars.py --text FILE`: learns, then writes 400 characters
- `python examples/python/chars.py --weights FILE --prompt "Once "`: writes from what was learned

The model is an LSTM of two layers; a character is a byte. `examples/c/chars.c` and
`examples/rust/chars` do the same and read the same weights: from those and one seed, the three
write the same text.
"""

import argparse
import sys
from pathlib import Path

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.safetensors import load_file, save_file
from flambeau.utils.data import DataLoader, TensorDataset
from flambeau.utils.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
LAYERS, HIDDEN, FEATURES, WINDOW = 2, 128, 32, 64


class Chars(nn.Module):
    """Characters in, int64 [n, length]; logits of those that follow out, [n, length, words]."""

    def __init__(self, vocabulary):
        super().__init__()
        words = len(vocabulary)
        self.embedding = nn.Embedding(words, FEATURES)
        self.lstm = nn.LSTM(FEATURES, HIDDEN, LAYERS, batch_first=True)
        self.head = nn.Linear(HIDDEN, words)
        self.register_buffer("vocabulary", vocabulary)

    def forward(self, codes, state=None):
        """The logits, and what the LSTM remembers."""
        output, state = self.lstm(self.embedding(codes), state)
        return self.head(output), state


def vocabulary_of(text):
    """The bytes that occur, in order: uint8 [n]."""
    return torch.tensor(sorted(set(text)), dtype=torch.uint8)


def encode(text, vocabulary):
    """Where each byte stands in the vocabulary: int64 [n]."""
    places = {byte: i for i, byte in enumerate(vocabulary.tolist())}
    unknown = set(text) - set(places)
    if unknown:
        raise ValueError(f"{bytes(unknown)!r} is not in the text it learned from")
    return torch.tensor([places[byte] for byte in text])


def windows(text, vocabulary, args):
    """Windows of the text, and the same windows one character later: int64 [n, WINDOW]."""
    if len(text) < 2 * WINDOW:
        raise ValueError(f"{args.text}: is too short to learn from")
    codes = encode(text, vocabulary)
    n = (len(codes) - 1) // WINDOW * WINDOW
    pairs = TensorDataset(codes[:n].view(-1, WINDOW), codes[1 : n + 1].view(-1, WINDOW))
    generator = torch.Generator().manual_seed(args.seed)
    return DataLoader(pairs, args.batch_size, shuffle=True, generator=generator)


def train(model, loader, device, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    with Progress(args.epochs * len(loader), "steps") as bar:
        for epoch in range(1, args.epochs + 1):
            total = torch.zeros((), device=device)
            for codes, following in loader:
                logits, _ = model(codes.to(device))
                loss = F.cross_entropy(logits.flatten(0, 1), following.to(device).flatten())
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                total += loss.detach()  # stays on the device: a step never waits for it
                bar.advance(1)
            if epoch == 1 or epoch % max(1, args.epochs // 10) == 0:
                bar.say(f"epoch {epoch:3}/{args.epochs}   loss {total.item() / len(loader):.4f}")


def prompt(vocabulary, args):
    """What is to be continued; without a prompt, the first character of the vocabulary."""
    return bytearray(args.prompt, "utf-8") if args.prompt else bytearray([vocabulary[0].item()])


@torch.no_grad()
def write(model, device, args):
    """The prompt and `args.length` bytes after it. Colder is surer; at temperature 0 always the
    likeliest character follows."""
    model.eval()
    torch.manual_seed(args.seed)
    written = prompt(model.vocabulary, args)
    codes, state = encode(written, model.vocabulary).to(device)[None], None
    for _ in range(args.length):
        logits, state = model(codes, state)
        logits = logits[0, -1]
        if args.temperature > 0:
            code = torch.multinomial((logits / args.temperature).softmax(-1), 1)
        else:
            code = logits.argmax(-1, keepdim=True)
        written.append(model.vocabulary[code].item())
        codes = code[None]
    return bytes(written)


def at_least(least, kind=int):
    """A number from the command line, checked before anything is trained."""

    def number(text):
        if not kind(text) >= least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return kind(text)

    return number


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--text", default=ROOT / "README.md", help="what to learn from")
    p.add_argument("--epochs", type=at_least(1), default=30)
    p.add_argument("--batch-size", type=at_least(1), default=16)
    p.add_argument("--lr", type=at_least(0, float), default=5e-3)
    p.add_argument("--save", default=ROOT / "build/chars.safetensors")
    p.add_argument("--weights", help="write from these and train nothing")
    p.add_argument("--prompt", help="default: the first character of the vocabulary")
    p.add_argument("--length", type=at_least(0), default=400, help="of what is written, in bytes")
    p.add_argument("--temperature", type=at_least(0, float), default=0.7)
    p.add_argument("--device", default="auto")
    p.add_argument("--seed", type=at_least(0), default=0)
    args = p.parse_args()
    if args.prompt == "":
        p.error("argument --prompt: must not be empty")
    return args


def learn(device, args):
    text = Path(args.text).read_bytes()
    vocabulary = vocabulary_of(text)
    encode(prompt(vocabulary, args), vocabulary)  # what it cannot continue is said before it learns
    model = Chars(vocabulary).to(device)
    print(f"text     {args.text}, {len(text)} bytes, {len(vocabulary)} different")
    print(f"model    LSTM, {sum(p.numel() for p in model.parameters())} parameters\n")
    train(model, windows(text, vocabulary, args), device, args)
    Path(args.save).parent.mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), args.save)
    print(f"saved    {args.save}")


def main():
    args = arguments()
    gpu = torch.cuda.is_available()
    device = torch.device(("cuda" if gpu else "cpu") if args.device == "auto" else args.device)
    torch.manual_seed(args.seed)
    print(f"device   {device}")
    if not args.weights:
        learn(device, args)
    state = load_file(args.weights or args.save)
    model = Chars(state["vocabulary"])
    model.load_state_dict(state)
    print("\n" + write(model.to(device), device, args).decode(errors="replace"))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except (OSError, RuntimeError, ValueError) as problem:  # its text says what mends it
        sys.exit(f"chars.py: {problem}")
