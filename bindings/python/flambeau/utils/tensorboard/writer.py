"""`SummaryWriter`: one folder of logs with one event file, and further files below it for the
curves of `add_scalars` and the runs of `add_hparams`."""

import os
import socket
import time

import numpy as np

from . import _embedding, _summary
from ._event_file import EventFile, field
from ._image import as_array, figure_picture, picture_of


def _number(value):
    found = as_array(value)
    if found.size != 1:
        raise ValueError(f"a scalar has one element, got shape {list(found.shape)}")
    return found.reshape(()).item()


class SummaryWriter:
    """Writes logs for TensorBoard to `log_dir`; default runs/DATE_TIME_HOST with `comment` behind.

    Steps from `purge_step` on that an earlier, crashed run left there are hidden. At most
    `max_queue` values wait to be written, and no longer than `flush_secs` seconds once another
    comes."""

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120,
                 filename_suffix=""):  # fmt: skip
        if not log_dir:
            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = str(log_dir), purge_step
        self._options = max_queue, flush_secs, filename_suffix
        self._files, self._points = {}, {}
        self._file()

    def _file(self, below=""):
        """The event file of a folder, made on first use."""
        if self._files is None:
            raise ValueError("the SummaryWriter is closed")
        if below not in self._files:
            made = self._files[below] = EventFile(os.path.join(self.log_dir, below), *self._options)
            if self.purge_step is not None:
                made.add(field(7, field(1, 1)), self.purge_step, None)
        return self._files[below]

    def _add(self, summary, step, walltime, below=""):
        step = None if step is None else _number(step)
        self._file(below).add(field(5, summary), step, walltime)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False,
                   double_precision=False):  # fmt: skip
        """One point of the curve `tag`."""
        value = _number(scalar_value)
        if new_style or double_precision:
            summary = _summary.scalar_tensor(tag, value, double_precision)
        else:
            summary = _summary.scalar(tag, value)
        self._add(summary, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """One point of several curves that are drawn together."""
        walltime = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            folder = main_tag.replace("/", "_") + "_" + tag
            self._add(_summary.scalar(main_tag, _number(value)), global_step, walltime, folder)

    def add_histogram(
        self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None
    ):
        """The distribution of all elements of `values`."""
        self._add(_summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts,
                          global_step=None, walltime=None):  # fmt: skip
        """A distribution that was counted elsewhere."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        numbers = (float(_number(v)) for v in (min, max, num, sum, sum_squares))
        made = _summary.histogram_raw(tag, *numbers, bucket_limits, bucket_counts)
        self._add(made, global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture: uint8, or other values in [0, 1]; `dataformats` names the axes."""
        pixels = picture_of(img_tensor, dataformats)
        self._add(_summary.picture(tag, pixels), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Several pictures as one grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A Matplotlib figure, or a list of them as one grid; closed afterwards."""
        figures = figure if isinstance(figure, (list, tuple)) else [figure]
        pictures = np.stack([figure_picture(f) for f in figures])
        if close:
            from matplotlib import pyplot

            for f in figures:
                pyplot.close(f)
        self.add_image(tag, pictures, global_step, walltime, "NHWC")

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text, shown as Markdown."""
        self._add(_summary.text(tag, text_string), global_step, walltime)

    def add_hparams(
        self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None
    ):
        """One run of a search: the hyperparameters and what they led to."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        run = run_name or str(time.time())
        for summary in _summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete):
            self._add(summary, global_step, None, run)
        for name, value in metric_dict.items():
            self._add(_summary.scalar(name, _number(value)), global_step, None, run)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The operations of one call of the model, by module, as autograd records them."""
        if input_to_model is None:
            raise ValueError("add_graph: input_to_model is needed, a tensor or a tuple of them")
        from ._graph import graph_of

        graph, names = graph_of(model, input_to_model)
        self._file().add(field(4, graph), None, None)
        if verbose:
            print("\n".join(names))

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default",
                      metadata_header=None):  # fmt: skip
        """Points [n, d] for the projector, with a label and a picture [n, channels, h, w] each."""
        step = f"{0 if global_step is None else int(_number(global_step)):05}"
        name = "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):02x}" for c in tag)
        self._points[f"{tag}:{step}"] = _embedding.save(
            self.log_dir, f"{step}/{name}", mat, metadata, label_img, metadata_header
        )
        with open(os.path.join(self.log_dir, "projector_config.pbtxt"), "w") as file:
            file.write(_embedding.configuration(self._points))

    def __getattr__(self, name):
        if name.startswith("add_"):
            raise NotImplementedError(
                f"SummaryWriter.{name} is unsupported in this version of flambeau; there are "
                "scalars, histograms, images, figures, texts, graphs, embeddings and hparams"
            )
        raise AttributeError(f"'SummaryWriter' object has no attribute '{name}'")

    def get_logdir(self):
        """The folder of the logs."""
        return self.log_dir

    def flush(self):
        """Writes what waits."""
        for file in (self._files or {}).values():
            file.flush()

    def close(self):
        """Writes what waits and closes the files."""
        for file in (self._files or {}).values():
            file.close()
        self._files = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
