"""The values of an event: scalars, histograms, pictures, texts and hyperparameters as messages of
tensorflow's summary.proto, tensor.proto and the plugins' own."""

import functools

import numpy as np

from ._event_file import double, field, float32
from ._image import as_array, png


def _value(tag, content):
    return field(1, field(1, tag) + content)


def _plugin(name, content=b""):
    return field(9, field(1, field(1, name) + field(2, content)))


def scalar(tag, value):
    """A number in float32, as dashboards expect it."""
    return _value(tag, float32(2, value))


def scalar_tensor(tag, value, wide):
    """A number as a tensor of the scalars plugin, in float32 or float64."""
    dtype, number, packed = (2, 6, "<f8") if wide else (1, 5, "<f4")
    data = field(number, np.array([value], packed).tobytes())
    return _value(tag, field(8, field(1, dtype) + field(2, b"") + data) + _plugin("scalars"))


def picture(tag, pixels):
    """A picture, uint8 [height, width, channels]."""
    height, width, channels = pixels.shape
    size = field(1, height) + field(2, width) + field(3, channels)
    return _value(tag, field(4, size + field(4, png(pixels))))


def text(tag, content):
    """Markdown for the text plugin."""
    shape = field(2, field(2, field(1, 1)))
    data = field(1, 7) + shape + field(8, content)
    return _value(tag + "/text_summary", field(8, data) + _plugin("text"))


def histogram_raw(tag, low, high, count, total, squares, limits, counts):
    """A histogram whose bins are counted already: `counts[i]` lie below `limits[i]`."""
    edges, numbers = (np.asarray(v, "<f8").tobytes() for v in (limits, counts))
    content = b"".join(
        double(i + 1, float(v)) for i, v in enumerate((low, high, count, total, squares))
    )
    return _value(tag, field(5, content + field(6, edges) + field(7, numbers)))


@functools.cache
def _tensorflow_bins():
    """Edges that grow by a tenth from 1e-12 on, on both sides of 0."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return np.array([-e for e in reversed(edges)] + [0.0] + edges)


def histogram(tag, values, bins, max_bins):
    """A histogram of all finite values; `bins` is "tensorflow" or what numpy.histogram takes."""
    values = as_array(values).astype(np.float64).reshape(-1)
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    edges = _tensorflow_bins() if isinstance(bins, str) and bins == "tensorflow" else bins
    counts, limits = np.histogram(finite, edges)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        padded = np.concatenate([counts, np.zeros(-len(counts) % step, counts.dtype)])
        counts = padded.reshape(-1, step).sum(axis=1)
        limits = np.append(limits[:-1:step], limits[-1])
    used = np.flatnonzero(counts)
    # One empty bin on either side, so that the curve comes down to zero.
    first, last = (max(used[0] - 1, 0), used[-1] + 1) if used.size else (0, 0)
    counts, limits = counts[first : last + 1], limits[first + 1 : last + 2]
    if len(limits) < len(counts):
        limits = np.append(limits, np.inf)
    total, squares = finite.sum(), finite.dot(finite)
    return histogram_raw(
        tag, finite.min(), finite.max(), finite.size, total, squares, limits, counts
    )


def _struct_value(value):
    """google.protobuf.Value of a hyperparameter."""
    if isinstance(value, bool):
        return field(4, int(value)), 2
    if isinstance(value, str):
        return field(3, value), 1
    return double(2, float(value)), 3


def hparams(given, metrics, domains):
    """The three summaries of one run of the hyperparameter plugin: experiment, start, end."""
    infos, values = b"", b""
    for name, value in given.items():
        if value is None:
            continue
        value = value if isinstance(value, (bool, str)) else as_array(value).item()
        packed, kind = _struct_value(value)
        domain = b"".join(field(1, _struct_value(v)[0]) for v in (domains or {}).get(name, ()))
        infos += field(4, field(1, name) + field(4, kind) + (field(5, domain) if domain else b""))
        values += field(1, field(1, name) + field(2, packed))
    for name in metrics:
        infos += field(5, field(1, field(2, name)))
    return tuple(
        _value(f"_hparams_/{what}", _plugin("hparams", field(number, content)))
        for what, number, content in (
            ("experiment", 2, infos),
            ("session_start_info", 3, values),
            ("session_end_info", 4, field(1, 1)),
        )
    )
