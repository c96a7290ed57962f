#!/usr/bin/env python3
"""Trains GPT-2, of 124 million parameters or of any other size, and lets it write.

- `python examples/python/gpt2.py --text FILE --dtype bf16`: on the bytes of a text, from the start;
  with a vocabulary of 256 bytes instead of 50257 tokens it has 86 million parameters
- `python examples/python/gpt2.py --weights model.safetensors --tokens FILE`: goes on from public
  weights (names and layout of OpenAI's checkpoint), on tokens: 16-bit numbers, nothing else
- `.venv/bin/flambeau-run --nproc-per-node 8 examples/python/gpt2.py ...`: in eight processes
- `--layers 2 --heads 2 --width 64 --context 64 --steps 300`: a small one, for a laptop

`examples/c/gpt.c` is the same model in C, and learns with the same losses.
"""

from pathlib import Path

import flambeau as torch
import numpy as np
import rates
import training
from flambeau.safetensors import save_file
from flambeau.utils.data import DataLoader, TensorDataset
from gpt2_model import GPT2, Sizes, heads_of, to_public
from training import at_least

# GPT-2's vocabulary begins with the 256 bytes, those that print first: so a text is tokens of the
# public weights, too, if not the ones that their tokenizer would choose.
BYTES = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES += sorted(set(range(256)) - set(BYTES))
PLACE = np.argsort(BYTES).astype(np.int16)


def arguments():
    p = training.options(
        __doc__.split("\n\n")[0],
        steps=1000, batch_size=8, lr=6e-4, warmup=100, weight_decay=0.1, clip=1.0,
    )  # fmt: skip
    p.add_argument("--text", default=training.ROOT / "README.md", help="learnt as bytes")
    p.add_argument("--tokens", help="learnt instead of a text: 16-bit numbers, little-endian")
    p.add_argument("--weights", help="safetensors of a public checkpoint, or what --save wrote")
    p.add_argument("--layers", type=at_least(1), default=12, help="blocks")
    p.add_argument("--heads", type=at_least(1), help="default: width / 64, as in GPT-2")
    p.add_argument(
        "--width", type=at_least(1), default=768, help="of what goes from block to block"
    )
    p.add_argument("--context", type=at_least(2), default=1024, help="tokens of a window")
    p.add_argument("--vocabulary", type=at_least(256), help="default: 50257 with --tokens, or 256")
    p.add_argument("--dropout", type=at_least(0, float), default=0.0, help="share of zeros")
    p.add_argument("--evaluate", type=at_least(0), default=0, help="steps between; 0: at the end")
    p.add_argument("--length", type=at_least(0), default=200, help="tokens that it writes")
    p.add_argument("--temperature", type=at_least(0, float), default=0.8, help="of what it writes")
    return p.parse_args()


def codes_of(args):
    """What is to be learnt, int16 [n]: read as unsigned numbers, which go to 65535."""
    if args.tokens:
        codes = np.memmap(args.tokens, np.int16, "c")
    else:
        codes = PLACE[np.frombuffer(Path(args.text).read_bytes(), np.uint8)]
    if len(codes) < 4 * args.context:
        raise ValueError(
            f"{args.tokens or args.text} has {len(codes)} tokens, less than four windows of "
            f"--context {args.context}; give more to learn from, or a smaller context"
        )
    return torch.from_numpy(codes)


def wide(codes):
    """Tokens as the model takes them, from 16 bits without a sign."""
    return codes.long() & 0xFFFF


def check_words(codes, vocabulary):
    """Refuses tokens that the model does not know, before it would meet one."""
    for part in codes.split(2**24):
        largest = wide(part).max().item()
        if largest >= vocabulary:
            raise ValueError(
                f"the tokens go up to {largest}, and the model knows those below {vocabulary}; "
                f"give --vocabulary {largest + 1} or more, or other tokens"
            )


def windows(codes, context):
    """Windows one after the other, and the same ones a token later: [n, context]."""
    used = (len(codes) - 1) // context * context
    return TensorDataset(*(codes[i : i + used].view(-1, context) for i in (0, 1)))


@torch.no_grad()
def evaluate(model, held_out, job, args):
    """The mean loss of at most 20 held-out batches."""
    model.eval()
    loader = DataLoader(held_out, args.batch_size)
    count = min(20, len(loader))
    total = torch.zeros((), device=job.device)
    for _, (codes, following) in zip(range(count), loader):
        with job.autocast():
            total += model(wide(codes.to(job.device)), wide(following.to(job.device)))
    model.train()
    return f"held-out loss {total.item() / count:.4f}"


@torch.no_grad()
def write(model, start, job, args):
    """Tokens that follow those of `start`; colder is surer, and at 0 always the likeliest."""
    model.eval()
    torch.manual_seed(args.seed)
    codes = start
    for _ in range(args.length):
        with job.autocast():
            logits = model(codes[:, -model.sizes.context :])[0, -1].float()
        if args.temperature > 0:
            code = torch.multinomial((logits / args.temperature).softmax(-1), 1)
        else:
            code = logits.argmax(-1, keepdim=True)
        codes = torch.cat([codes, code[None]], 1)
    return codes[0].tolist()


def spelled(codes):
    """The text of tokens that are bytes; the numbers of others."""
    if max(codes) < len(BYTES):
        return bytes(BYTES[code] for code in codes).decode(errors="replace")
    return " ".join(map(str, codes))


def build(job, args):
    """The model, from the weights that are given or from the start."""
    if args.weights:
        model = GPT2.load(args.weights, args.heads, args.dropout)
        args.context = min(args.context, model.sizes.context)
    else:
        vocabulary = args.vocabulary or (50257 if args.tokens else len(BYTES))
        heads = args.heads or heads_of(args.width)
        sizes = Sizes(vocabulary, args.context, args.layers, heads, args.width, args.dropout)
        model = GPT2(sizes).initialize(args.seed)
    return model.to(job.device)


def main():
    args = arguments()
    job = training.Job(args)
    model = build(job, args)
    codes, sizes = codes_of(args), model.sizes
    check_words(codes, sizes.vocabulary)
    parameters = sum(p.numel() for p in model.parameters())
    job.say(f"device   {job}")
    job.say(
        f"model    GPT-2, {training.counted(sizes.layers, 'layer')}, width {sizes.width}, "
        f"vocabulary {sizes.vocabulary}, {parameters} parameters"
    )

    kept = min(len(codes) * 9 // 10, len(codes) - args.context - 1)  # the rest is held out
    data, held_out = windows(codes[:kept], args.context), windows(codes[kept:], args.context)
    each = args.batch_size * args.accumulate
    sampler = training.Passes(len(data), args.steps * each, job, args.seed)
    cuda = job.device.type == "cuda"
    trained = job.everywhere(model)
    products = parameters - model.wpe.weight.numel()
    groups = training.groups(model, args.weight_decay)
    optimizer = torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.95))
    run = training.Training(
        job, args, trained, optimizer,
        DataLoader(data, each, sampler=sampler, pin_memory=cuda),
        unit="tokens", units=each * args.context,
        flops=rates.of_transformer(products, sizes.layers, sizes.width, args.context),
    )  # fmt: skip
    run.run(
        lambda part, codes, following: trained(wide(codes), wide(following)),
        lambda: evaluate(model, held_out, job, args),
        args.evaluate,
    )
    if job.rank == 0:
        if args.save:
            save_file(to_public(model.state_dict()), args.save)
            print(f"saved    {args.save}")
        start = wide(codes[None, :8].to(job.device))
        print("\n" + spelled(write(model, start, job, args)))


if __name__ == "__main__":
    training.program("gpt2.py", main)
