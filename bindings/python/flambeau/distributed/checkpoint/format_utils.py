"""A checkpoint of a job as one file of `torch.save`'s, and back: in one process, which holds all of
it in memory. As a program: `python -m flambeau.distributed.checkpoint.format_utils MODE FROM
TO`."""

import argparse
import os

from ... import _refused, serialization
from .default_planner import _EmptyStateDictLoadPlanner  # noqa: F401, programs take it from here
from .filesystem import FileSystemReader, FileSystemWriter
from .state_dict_loader import _load_state_dict, read_all  # noqa: F401
from .state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]

globals().update(
    _refused.names(
        "torch.distributed.checkpoint.format_utils",
        "BroadcastingTorchSaveReader DynamicMetaLoadPlanner",
        "torch_save_to_dcp makes a checkpoint of such a file, which load reads",
    )
)


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    """Writes the checkpoint in a directory as the file that `torch.save` of the state dict would
    have made, with every tensor whole."""
    serialization.save(read_all(FileSystemReader(dcp_checkpoint_dir)), os.fspath(torch_save_path))


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    """Writes a file of `torch.save`'s as a checkpoint in a directory."""
    found = serialization.load(os.fspath(torch_save_path), map_location="cpu", weights_only=True)
    if not isinstance(found, dict):
        raise ValueError(
            f"{os.fspath(torch_save_path)} holds a {type(found).__name__}; a checkpoint is made of "
            "a dict"
        )
    save(found, storage_writer=FileSystemWriter(dcp_checkpoint_dir), no_dist=True)


def main(given=None):
    """The program."""
    modes = {"torch_to_dcp": torch_save_to_dcp, "dcp_to_torch": dcp_to_torch_save}
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("mode", choices=modes, help="which way")
    parser.add_argument("src", help="what is read")
    parser.add_argument("dst", help="what is written")
    args = parser.parse_args(given)
    if not os.path.exists(args.src):
        parser.error(f"{args.src} does not exist")
    modes[args.mode](args.src, args.dst)


if __name__ == "__main__":
    main()
