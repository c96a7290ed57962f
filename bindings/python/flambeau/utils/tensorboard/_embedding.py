"""Points for TensorBoard's projector: tables beside the event file, and the text that names them.

Source: TensorFlow's projector_config.proto, in protobuf's text form."""

import math
import os

from ._image import _bytes_of, _grid, as_array, png


def save(log_dir, folder, points, metadata, pictures, header):
    """Writes the tables of one set of points; the files it consists of, by kind."""
    values = as_array(points)
    if values.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    if metadata is not None and len(metadata) != len(values):
        raise AssertionError("#labels should equal with #data points")
    if pictures is not None and len(pictures) != len(values):
        raise AssertionError("#images should equal with #data points")
    os.makedirs(os.path.join(log_dir, folder), exist_ok=True)
    files = {"tensor_path": f"{folder}/tensors.tsv"}
    _table(os.path.join(log_dir, files["tensor_path"]), values.tolist())
    if metadata is not None:
        files["metadata_path"] = f"{folder}/metadata.tsv"
        rows = [[x] for x in metadata] if header is None else [header, *metadata]
        _table(os.path.join(log_dir, files["metadata_path"]), rows)
    if pictures is not None:
        files["image_path"] = f"{folder}/sprite.png"
        files["size"] = _sheet(os.path.join(log_dir, files["image_path"]), as_array(pictures))
    return files


def _table(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows)


def _sheet(path, pictures):
    """All pictures [n, channels, height, width] in one square, filled up with black ones."""
    n, _, height, width = pictures.shape
    side = math.ceil(math.sqrt(n))
    sheet = _grid(_bytes_of(pictures.transpose(0, 2, 3, 1)), side)
    with open(path, "wb") as file:
        file.write(png(sheet))
    return width, height


def configuration(sets):
    """The text that names all sets of points, {name: files}."""
    lines = []
    for name, files in sets.items():
        lines += ["embeddings {", f'tensor_name: "{name}"']
        lines += [f'{k}: "{files[k]}"' for k in ("tensor_path", "metadata_path") if k in files]
        if "image_path" in files:
            lines += ["sprite {", f'image_path: "{files["image_path"]}"']
            lines += [f"single_image_dim: {n}" for n in files["size"]] + ["}"]
        lines.append("}")
    return "\n".join(lines) + "\n"
