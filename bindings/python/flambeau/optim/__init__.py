"""Optimizers and learning-rate schedules."""

import sys as _sys

from . import _rules, adam, lr_scheduler, swa_utils
from ._rules import ASGD, Adadelta, Adamax, NAdam, RAdam, RMSprop, Rprop
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer
from .sgd import SGD

__all__ = (
    "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam RMSprop "
    "Rprop SGD lr_scheduler swa_utils"
).split()

# torch has a module for each.
_MODULES = {_rules: "adadelta adamax asgd nadam radam rmsprop rprop", adam: "adamw"}
for _module, _names in _MODULES.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
