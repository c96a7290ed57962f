"""Arrays as pictures: axes put in order, values scaled, and the PNG encoding.

Source: https://www.w3.org/TR/png-3."""

import struct
import zlib

import numpy as np


def as_array(value):
    """A NumPy array of a tensor, an array or a number."""
    return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)


def _chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png(picture):
    """The PNG file of uint8 [height, width, channels], with 1, 3 or 4 channels."""
    height, width, channels = picture.shape
    colour = {1: 0, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    rows = picture.reshape(height, width * channels)
    unfiltered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)
    data = zlib.compress(unfiltered.tobytes(), 6)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", data)
        + _chunk(b"IEND", b"")
    )


def _bytes_of(values):
    """uint8 stays; other values are in [0, 1]."""
    if values.dtype == np.uint8:
        return values
    return np.clip(values.astype(np.float32) * 255, 0, 255).astype(np.uint8)


def _grid(pictures, columns=8):
    """[n, height, width, channels] as one picture, at most `columns` in a row."""
    n, height, width, channels = pictures.shape
    columns = min(n, columns)
    rows = -(-n // columns)
    sheet = np.zeros((rows * height, columns * width, channels), pictures.dtype)
    for i, one in enumerate(pictures):
        top, left = i // columns * height, i % columns * width
        sheet[top : top + height, left : left + width] = one
    return sheet


def picture_of(value, dataformats):
    """uint8 [height, width, channels] of an image whose axes `dataformats` names by the letters
    N, C, H and W; several (N) are laid out as a grid."""
    values, axes = as_array(value), dataformats.upper()
    if values.ndim != len(axes) or len(set(axes)) != len(axes) or set(axes) - set("NCHW"):
        raise ValueError(
            f"an image of shape {list(values.shape)} does not have the axes {dataformats!r}; "
            'say which it has by dataformats, such as "CHW", "HWC", "HW" or "NCHW"'
        )
    for letter in "NC":
        if letter not in axes:
            values, axes = values[None], letter + axes
    values = values.transpose([axes.index(letter) for letter in "NHWC"])
    if values.shape[3] not in (1, 3, 4):
        raise ValueError(f"an image has 1, 3 or 4 channels, got {values.shape[3]}")
    return _bytes_of(_grid(values))


def figure_picture(figure):
    """uint8 [height, width, 4] of a Matplotlib figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())
