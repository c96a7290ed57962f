"""The whole as Markdown: the fit, the figures of others beside the model's, and the outlook. The
words around the tables are those of `page.md`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from . import measured, outlook
from .hardware import GB
from .outlook import LARGE, SMALL
from .published import Figure
from .runs import efficiency

WIDTH = 120


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """The first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _size(size: int) -> str:
    for unit in "B", "KiB", "MiB":
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    raise ValueError("too large to be measured here")


def fitted(found: dict) -> str:
    fits = measured.fits(found)
    sizes = [_size(s) for s in next(iter(fits.values())).residuals]
    rows = [
        (
            name,
            f"{1e6 * f.link.latency:.0f} us",
            f"{f.link.bandwidth / GB:.2f} GB/s",
            *(f"{r:.2f}" for r in f.residuals.values()),
        )
        for name, f in fits.items()
    ]
    return _table(("", "latency", "bandwidth", *sizes), rows)


def steps(found: dict) -> str:
    rows = []
    for name, step in found["steps"].items():
        model = measured.predicted_step(found, name)
        ms = [f"{1e3 * t:.2f} ms" for t in (step["alone"], step["ddp"], model)]
        rows.append((name, *ms, f"{model / step['ddp']:.2f}"))
    return _table(("", "without DDP", "measured", "model", "ratio"), rows)


def _figure(f: Figure) -> tuple[str, ...]:
    mark = " (fitted)" if f.fitted else ""
    numbers = [f"{v:,.0f}" if v >= 1000 else f"{v:.4g}" for v in (f.measured, f.predicted)]
    return f"{f.what}{mark}", f"{f.gpus:,}", *numbers, f.unit, f"{f.ratio:.2f}"


def beside_others(figures: list[Figure]) -> Iterator[str]:
    """A table per source, and the reasons for what is known to be off."""
    for source in dict.fromkeys(f.source for f in figures):
        of = [f for f in figures if f.source == source]
        yield f"### {source}\n"
        yield _table(("", "GPUs", "measured", "model", "unit", "ratio"), [_figure(f) for f in of])
        yield ""
        for why in dict.fromkeys(f.miss for f in of if f.miss):
            count = sum(f.miss == why for f in of)
            yield fill(f"Off, {count} row{'s' if count > 1 else ''}: {why}.", WIDTH) + "\n"


def summary(figures: list[Figure]) -> str:
    """How far off what was not fitted is."""
    held = [f for f in figures if not f.fitted and not f.miss and f.unit != "GB"]
    missed = [f for f in figures if f.miss]
    worst = max(max(f.ratio, 1 / f.ratio) for f in held)
    near = sum(abs(f.ratio - 1) <= 0.1 for f in held)
    a100, h100 = efficiency("A100"), efficiency("H100")
    off = f"{len(missed)} are off, with the reason beside them"
    text = f"""Of {len(held) + len(missed)} figures of times and rates that nothing was fitted to,
    {near} are within 10 %, {len(held)} within {100 * (worst - 1):.0f} %, and {off}. Fitted are two
    numbers per kind of GPU and what is left of a link, to the rows marked so: products run at
    {a100.products:.0%} of the peak on A100 and {h100.products:.0%} on H100, and kept activations
    pass through memory {a100.passes:.1f} and {h100.passes:.1f} times. Most of the runs are bound by
    computation, so that they hold communication to being hidden, and tensor parallelism and bubbles
    to their share, rather than a transfer to its own time; where runs were bound by their network
    (stage 3 in 2021, DDP over one port a node) the model is too hopeful by 1.4 to 4.5 times: its
    ranks never wait for a slow one, and use every port."""
    return fill(" ".join(text.split()), WIDTH)


def times(model) -> str:
    rows = []
    for way in outlook.WAYS[model]:
        found = {row.gpus: row for row in outlook.rows(model, way)}
        cells = []
        for gpus in outlook.SHOWN:
            row = found.get(gpus)
            said = f"{row.step.seconds:.3g} s, {row.step.memory / GB:.0f} GB" if row else "-"
            cells.append(said if not row or row.fits else f"{row.step.memory / GB:.0f} GB")
        rows.append((way, *cells))
    return _table(("", *(f"{n:,}" for n in outlook.SHOWN)), rows)


def restarts() -> str:
    rows = []
    for name, rate in outlook.RATES.items():
        for gpus in outlook.SHOWN[2:]:
            r = outlook.reliability(LARGE, gpus, rate)
            hours, lost = r.between / outlook.HOUR, 24 * (1 - r.share)
            interval = f"{r.interval / 60:.1f} min"
            rows.append(
                (name, f"{gpus:,}", f"{hours:,.1f} h", f"{r.save:.1f} s", interval,
                 f"{r.share:.1%}", f"{lost:.1f} h")
            )  # fmt: skip
    head = ("failures", "GPUs", "one in", "a checkpoint", "every", "time that counts", "lost a day")
    return _table(head, rows)


def page(found: dict, figures: list[Figure]) -> str:
    return (
        (Path(__file__).parent / "page.md")
        .read_text()
        .format(
            processor=found["processor"],
            date=found["date"],
            fit=fitted(found),
            steps=steps(found),
            summary=summary(figures),
            figures="\n".join(beside_others(figures)).rstrip(),
            small=f"{SMALL.parameters / 1e9:.2f} billion",
            large=f"{LARGE.parameters / 1e9:.1f} billion",
            times_small=times(SMALL),
            times_large=times(LARGE),
            restarts=restarts(),
        )
    )


def check(figures: list[Figure]) -> list[str]:
    """What the model no longer says of the figures that it is held to."""
    out = [f for f in figures if not f.miss and abs(f.ratio - 1) > f.tolerance]
    hit = [f for f in figures if f.miss and abs(f.ratio - 1) <= f.tolerance]
    said = [f"{f.source}, {f.what}, {f.gpus} GPUs: {f.ratio:.2f} of what was measured" for f in out]
    return said + [f"{f.source}, {f.what}: said to be off, and is not" for f in hit]
