"""Makes digits.safetensors from the digits.csv.gz that scikit-learn ships (sklearn/datasets/data/).

    python make_digits.py digits.csv.gz digits.safetensors

Every fifth image is held out, so that the split is in the file and every program scores the same
359 images. The pixels are whole numbers from 0 to 240, 15 times what the source has, so that any
viewer of 8-bit images shows them. Needs only the standard library.
"""

import csv
import gzip
import json
import struct
import sys

SOURCE = {
    "title": "Optical Recognition of Handwritten Digits",
    "creators": "E. Alpaydin, C. Kaynak (1998)",
    "source": "UCI Machine Learning Repository, https://doi.org/10.24432/C50P49",
    "licence": "CC BY 4.0",
    "changes": "the UCI test set, as in scikit-learn, its 16 greys over a byte; every fifth image "
    "is in test.*",
}


def safetensors(tensors):
    """The bytes of a safetensors file with these (name, shape, u8 bytes)."""
    header, end = {"__metadata__": SOURCE}, 0
    for name, shape, data in tensors:
        header[name] = {"dtype": "U8", "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors)


def main(source, destination):
    with gzip.open(source, "rt") as file:
        rows = [bytes(int(float(cell)) for cell in row) for row in csv.reader(file)]
    held_out = rows[4::5]
    kept = [row for i, row in enumerate(rows) if i % 5 != 4]
    tensors = []
    for part, chosen in ("train", kept), ("test", held_out):
        pixels = bytes(15 * v for row in chosen for v in row[:64])
        tensors.append((f"{part}.images", [len(chosen), 1, 8, 8], pixels))
        tensors.append((f"{part}.labels", [len(chosen)], bytes(row[64] for row in chosen)))
    with open(destination, "wb") as file:
        file.write(safetensors(tensors))


if __name__ == "__main__":
    main(*sys.argv[1:])
