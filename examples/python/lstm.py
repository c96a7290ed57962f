#!/usr/bin/env python3
"""Trains a language model of words, an LSTM whose embedding is its last layer's weight, too, and
lets it write.

- `python examples/python/lstm.py --text FILE --dtype bf16`: two layers of 650, dropout 0.5
- `.venv/bin/flambeau-run --nproc-per-node 8 examples/python/lstm.py ...`: in eight processes
- `--layers 1 --width 64 --window 16 --batch-size 4 --dropout 0`: a small one, for a laptop

The text is cut into as many streams as a batch has rows. A step goes on in each of them for
`--window` words, from what the LSTM remembered of the words before; gradients end where the step
began (truncated backpropagation through time).
"""

import math
from collections import Counter
from pathlib import Path

import flambeau as torch
import flambeau.nn.functional as F
import rates
import training
from flambeau import nn
from flambeau.safetensors import save_file
from flambeau.utils.data import DataLoader, Sampler, TensorDataset
from training import at_least

RARE, END = "<unk>", "<eos>"


class WordModel(nn.Module):
    """Words in, int64 [n, length], and what is remembered, or None; logits of those that follow and
    what is remembered out, or with those that do follow the mean loss. Widths and dropout are those
    of Zaremba et al., 2014, arXiv 1409.2329; one weight for both ends is Press and Wolf's, 2016,
    arXiv 1608.05859."""

    def __init__(self, words, width, layers, dropout):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.dropout = nn.Dropout(dropout)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, dropout=between)
        self.bias = nn.Parameter(torch.zeros(words))
        nn.init.uniform_(self.embedding.weight, -0.05, 0.05)

    def forward(self, codes, memory=None, following=None):
        x, memory = self.lstm(self.dropout(self.embedding(codes)), memory)
        x = self.dropout(x)
        if following is None:
            return F.linear(x, self.embedding.weight, self.bias), memory
        loss = F.linear_cross_entropy(
            x.flatten(0, 1), self.embedding.weight, following.flatten(), linear_bias=self.bias
        )
        return loss, memory


class InOrder(Sampler):
    """Windows as they follow each other, from the first again after the last."""

    def __init__(self, windows, steps):
        self.windows, self.steps = windows, steps

    def __iter__(self):
        return (step % self.windows for step in range(self.steps))

    def __len__(self):
        return self.steps


def arguments():
    p = training.options(
        __doc__.split("\n\n")[0],
        steps=1000, batch_size=20, lr=2e-3, warmup=50, weight_decay=1e-4, clip=0.25,
    )  # fmt: skip
    p.add_argument("--text", default=training.ROOT / "README.md", help="what to learn from")
    p.add_argument("--vocabulary", type=at_least(3), default=10000, help="the most frequent words")
    p.add_argument("--layers", type=at_least(1), default=2)
    p.add_argument("--width", type=at_least(1), default=650)
    p.add_argument("--window", type=at_least(1), default=35, help="words of a step, in each row")
    p.add_argument("--dropout", type=at_least(0, float), default=0.5)
    p.add_argument("--length", type=at_least(0), default=60, help="words that it writes")
    return p.parse_args()


def words_of(args):
    """The text as codes, int64 [n], and the words that they stand for."""
    lines = Path(args.text).read_text(errors="replace").splitlines()
    text = [word for line in lines for word in (*line.split(), END)]
    counts = Counter(word for word in text if word not in (RARE, END))
    vocabulary = [RARE, END, *(word for word, _ in counts.most_common(args.vocabulary - 2))]
    code = {word: i for i, word in enumerate(vocabulary)}
    return torch.tensor([code.get(word, 0) for word in text]), vocabulary


def streams(codes, rows, window, what):
    """Windows of so many streams, and the same a word later: [windows, rows, window]."""
    count = (len(codes) - 1) // (rows * window)
    if count == 0:
        raise ValueError(
            f"{len(codes)} words {what} are too few for {rows} rows of --window {window}; give "
            "more text, a smaller --batch-size, or a smaller window"
        )
    used = count * rows * window
    return [codes[i : i + used].view(rows, count, window).transpose(0, 1) for i in (0, 1)]


@torch.no_grad()
def evaluate(model, held_out, job):
    """The perplexity of held-out text, read from its beginning to its end."""
    model.eval()
    total, memory = torch.zeros((), device=job.device), None
    for codes, following in zip(*held_out):
        with job.autocast():
            loss, memory = model(codes.to(job.device), memory, following.to(job.device))
        total += loss
    model.train()
    mean = total.item() / len(held_out[0])
    return f"held-out loss {mean:.4f}, perplexity {math.exp(min(mean, 700)):.1f}"


@torch.no_grad()
def write(model, vocabulary, job, args):
    """Words, from the end of a line on; those that it does not know are left out."""
    model.eval()
    torch.manual_seed(args.seed)
    code, memory, written = torch.tensor([[vocabulary.index(END)]], device=job.device), None, []
    for _ in range(args.length):
        with job.autocast():
            logits, memory = model(code, memory)
        logits = logits[0, -1].float()
        logits[0] = -math.inf
        code = torch.multinomial(logits.softmax(-1), 1)[None]
        written.append(vocabulary[code.item()])
    return " ".join(written).replace(END, "\n")


def main():
    args = arguments()
    job = training.Job(args)
    codes, vocabulary = words_of(args)
    model = WordModel(len(vocabulary), args.width, args.layers, args.dropout)
    parameters = sum(p.numel() for p in model.parameters())
    job.say(f"device   {job}")
    job.say(
        f"model    LSTM, {training.counted(args.layers, 'layer')}, {len(vocabulary)} words, "
        f"{parameters} parameters"
    )

    kept, rows = len(codes) * 9 // 10, args.batch_size * args.accumulate
    own = slice(job.rank * rows, (job.rank + 1) * rows)
    data = [part[:, own] for part in streams(codes[:kept], rows * job.world, args.window, "")]
    held_out = streams(codes[kept:], 1, args.window, "held out")
    windows = len(data[0])
    loader = DataLoader(TensorDataset(*data), None, sampler=InOrder(windows, args.steps))
    trained = job.everywhere(model)
    groups = training.groups(model, args.weight_decay)
    run = training.Training(
        job, args, trained, torch.optim.AdamW(groups, lr=args.lr), loader,
        unit="words", units=rows * args.window,
        flops=rates.of_products(sum(p.numel() for p in groups[0]["params"])),
    )  # fmt: skip
    memories = run.state.setdefault("memories", {})

    def loss_of(part, codes, following):
        begins = (run.step - 1) % windows == 0
        memory = None if begins else [m.to(job.device) for m in memories[str(part)]]
        loss, memory = trained(codes, memory, following)
        memories[str(part)] = [m.detach() for m in memory]
        return loss

    run.run(loss_of, lambda: evaluate(model, held_out, job))
    if job.rank == 0:
        if args.save:
            save_file(model.state_dict(), args.save)
            print(f"saved    {args.save}")
        print("\n" + write(model, vocabulary, job, args))


if __name__ == "__main__":
    training.program("lstm.py", main)
