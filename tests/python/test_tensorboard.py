"""SummaryWriter: event files are read back by a decoder of their format that shares no code with
the writer."""

import glob
import struct
import zlib

import numpy as np
import pytest


def fields(data):
    """{number: [values]} of one message: varints, 8-byte, 4-byte and length-delimited fields."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        number, kind = key >> 3, key & 7
        size = {1: 8, 5: 4}.get(kind)
        if kind == 0:
            value = varint()
        else:
            size = varint() if kind == 2 else size
            value, at = data[at : at + size], at + size
            if kind == 1:
                value = struct.unpack("<d", value)[0]
            if kind == 5:
                value = struct.unpack("<f", value)[0]
        found.setdefault(number, []).append(value)
    return found


def events(folder):
    (path,) = glob.glob(f"{folder}/events.out.tfevents.*")
    data, at, found = open(path, "rb").read(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        found.append(fields(data[at + 12 : at + 12 + size]))
        at += 12 + size + 4
    return found


def values(folder):
    """(tag, step, value message) of every summary."""
    found = []
    for event in events(folder):
        for summary in event.get(5, ()):
            value = fields(fields(summary)[1][0])
            found.append((value[1][0].decode(), event.get(2, [None])[0], value))
    return found


@pytest.fixture
def writer(torch, tmp_path):
    from flambeau.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path / "run") as made:
        yield made


def test_checksums(torch):
    from flambeau.utils.tensorboard._event_file import crc32c

    # The vectors of RFC 3720, appendix B.4.
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_scalars(torch, writer):
    assert events(writer.log_dir)[0][3] == [b"brain.Event:2"]
    writer.add_scalar("loss", torch.tensor([0.5]), 7, walltime=12.5)
    writer.add_scalar("loss", 3, torch.tensor(8))
    writer.add_scalar("wide", 1 / 3, double_precision=True)
    writer.flush()
    (_, first, second, wide) = events(writer.log_dir)
    assert first[1] == [12.5] and first[2] == [7] and second[2] == [8] and 2 not in wide
    read = values(writer.log_dir)
    assert [(tag, v[2]) for tag, _, v in read[:2]] == [("loss", [0.5]), ("loss", [3.0])]
    tensor = fields(read[2][2][8][0])
    assert struct.unpack("<d", tensor[6][0]) == (1 / 3,)
    with pytest.raises(ValueError, match="a scalar has one element, got shape \\[2\\]"):
        writer.add_scalar("loss", torch.ones(2))


def test_histograms(torch, writer):
    writer.add_histogram("w", torch.tensor([-1.0, 0.5, 0.5, 4.0]), 1)
    writer.add_histogram("n", np.arange(100), 1, bins=10, max_bins=5)
    writer.flush()
    for (_, _, value), count in zip(values(writer.log_dir), (4, 100)):
        histogram = fields(value[5][0])
        limits = np.frombuffer(histogram[6][0])
        counts = np.frombuffer(histogram[7][0])
        assert histogram[3] == [count] and counts.sum() == count and len(limits) == len(counts)
        assert (np.diff(limits) > 0).all()
    with pytest.raises(ValueError, match="empty"):
        writer.add_histogram("w", torch.tensor([float("nan")]))


def pixels(image):
    """Height, width, channels and bytes of a PNG message."""
    image = fields(image)
    data = image[4][0]
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = data.index(b"IDAT")
    (size,) = struct.unpack_from(">I", data, at - 4)
    height, width, channels = image[1][0], image[2][0], image[3][0]
    rows = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + size]), np.uint8)
    return rows.reshape(height, 1 + width * channels)[:, 1:].reshape(height, width, channels)


def test_images(torch, writer):
    picture = torch.linspace(0, 1, 3 * 4 * 5).reshape(3, 4, 5)
    writer.add_image("one", picture, 2)
    writer.add_image("grey", np.full((4, 5), 7, np.uint8), dataformats="HW")
    writer.add_images("many", torch.ones(10, 1, 2, 3))
    writer.flush()
    one, grey, many = (pixels(v[4][0]) for _, _, v in values(writer.log_dir))
    wanted = (picture.permute(1, 2, 0).numpy() * 255).astype(np.uint8)
    assert np.array_equal(one, wanted)
    assert grey.shape == (4, 5, 1) and (grey == 7).all()
    assert many.shape == (4, 24, 1) and many.sum() == 10 * 2 * 3 * 255
    with pytest.raises(ValueError, match="does not have the axes 'CHW'"):
        writer.add_image("one", torch.ones(2, 2))
    with pytest.raises(ValueError, match="1, 3 or 4 channels, got 2"):
        writer.add_image("one", torch.ones(2, 4, 4))


def test_texts_and_hyperparameters(torch, writer):
    writer.add_text("note", "**hi**", 1)
    writer.add_hparams({"lr": 0.1, "layers": 3, "kind": "a", "deep": True}, {"acc": 0.5}, None, "r")
    writer.flush()
    (tag, _, value) = values(writer.log_dir)[0]
    assert tag == "note/text_summary" and fields(value[8][0])[8] == [b"**hi**"]
    tags = [tag for tag, _, _ in values(f"{writer.log_dir}/r")]
    assert [t.rsplit("/", 1)[-1] for t in tags] == [
        "experiment",
        "session_start_info",
        "session_end_info",
        "acc",
    ]


def test_curves_that_are_drawn_together(torch, writer):
    writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 3)
    writer.flush()
    for name, number in (("a", 1.0), ("b", 2.0)):
        ((tag, step, value),) = values(f"{writer.log_dir}/both_{name}")
        assert (tag, step, value[2]) == ("both", 3, [number])


class Net:
    """Makes a model of a convolution, functions between modules, and a body of three layers."""

    def __new__(cls, torch):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = torch.nn.Conv2d(1, 4, 3)
                self.body = torch.nn.Sequential(torch.nn.Linear(144, 8), torch.nn.ReLU())

            def forward(self, x):
                return self.body(torch.relu(self.conv(x)).flatten(1)).softmax(-1)

        return Net()


def test_graphs(torch, writer, capsys):
    model = Net(torch)
    writer.add_graph(model, torch.randn(2, 1, 8, 8), verbose=True)
    writer.flush()
    graph = fields(events(writer.log_dir)[1][4][0])
    assert fields(graph[4][0]) == {1: [1]}  # versions.producer
    nodes = {}
    for data in graph[1]:
        node = fields(data)
        shape = [
            fields(dim)[1][0]
            for attribute in node.get(5, ())
            for dim in fields(fields(fields(fields(attribute)[2][0])[1][0])[7][0])[2]
        ]
        inputs = [name.decode() for name in node.get(3, ())]
        nodes[node[1][0].decode()] = (node[2][0].decode(), inputs, shape)
    assert capsys.readouterr().out.split() == list(nodes)
    assert nodes["Net/conv/weight"] == ("Parameter", [], [4, 1, 3, 3])
    of = ["input/input.1", "Net/conv/weight", "Net/conv/bias"]
    assert nodes["Net/conv/Convolution"] == ("Convolution", of, [2, 4, 6, 6])
    assert nodes["Net/Relu"][1] == ["Net/conv/Convolution"]  # between modules: the outer one's
    assert nodes["Net/body/1/Relu"][1] == ["Net/body/0/Addmm"]
    assert nodes["output/output.1"] == ("IO Node", ["Net/Softmax"], [2, 8])
    assert not model._forward_hooks and not model.conv._forward_hooks
    with pytest.raises(ValueError, match="input_to_model is needed"):
        writer.add_graph(model)


def test_points_of_the_projector(torch, writer):
    import os

    points, pictures = torch.arange(6.0).view(3, 2), torch.rand(3, 1, 4, 5)
    writer.add_embedding(points, metadata=["a", "b", "c"], label_img=pictures, global_step=2)
    writer.add_embedding(points, [["x", 1]] * 3, tag="a/b", metadata_header=["name", "n"])

    def read(name):
        with open(os.path.join(writer.log_dir, name), "rb") as file:
            return file.read()

    assert read("00002/default/tensors.tsv").split() == [b"0.0", b"1.0", b"2.0", b"3.0"] + [
        b"4.0",
        b"5.0",
    ]
    assert read("00002/default/metadata.tsv") == b"a\nb\nc\n"
    assert read("00000/a%2fb/metadata.tsv") == b"name\tn\n" + b"x\t1\n" * 3
    sprite = read("00002/default/sprite.png")
    assert struct.unpack(">II", sprite[16:24]) == (10, 8)  # two in a row
    text = read("projector_config.pbtxt").decode()
    assert text.count("embeddings {") == 2 and 'tensor_path: "00000/a%2fb/tensors.tsv"' in text
    assert "single_image_dim: 5\nsingle_image_dim: 4\n" in text
    with pytest.raises(AssertionError, match="#labels should equal"):
        writer.add_embedding(points, metadata=["a"])
    with pytest.raises(AssertionError, match="mat should be 2D"):
        writer.add_embedding(torch.ones(3))


def test_what_is_not_there(torch, writer):
    with pytest.raises(NotImplementedError, match="add_mesh is unsupported"):
        writer.add_mesh(None)
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.add_scalar("loss", 1)
    writer.close()
