"""Optimizers that are nothing but a rule of the library: one fused step per group."""

from .._signed import kind
from ._rule import RuleOptimizer
from .optimizer import check


def rule(order="", **since):
    """Makes an optimizer of a function with the signature of its constructor. `order` and `since`
    are as in RuleOptimizer."""

    def make(signature):
        name = signature.__name__
        members = {"_name": name, "_order": order, "_since": since}
        members["__module__"] = f"{__package__}.{name.lower()}"  # where torch has it
        return kind(name, RuleOptimizer, signature, _begin, **members)

    return make


def _begin(above, self, given):
    above(**given)


@rule("lr rho eps weight_decay maximize capturable foreach differentiable")
def Adadelta(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *,
             capturable=False, maximize=False, differentiable=False):  # fmt: skip
    """Steps by the gradient in the ratio of the running changes to the running gradients. Source:
    Zeiler, 2012, arXiv 1212.5701."""
    check("rho value", rho, 0.0 <= rho <= 1.0)


@rule()
def Adamax(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *,
           maximize=False, differentiable=False, capturable=False):  # fmt: skip
    """Adam by the infinity norm: steps by the first moment over the greatest gradient. Source:
    Kingma and Ba, 2014, arXiv 1412.6980."""


@rule()
def ASGD(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None,
         maximize=False, differentiable=False, capturable=False):  # fmt: skip
    """Gradient descent with a falling rate and an average of the parameters in `ax`. Source: Polyak
    and Juditsky, 1992, SIAM J. Control Optim. 30."""


@rule(
    "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
    "capturable differentiable"
)
def NAdam(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
          decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
          differentiable=False):  # fmt: skip
    """Adam with Nesterov's momentum. Source: Dozat, 2016, ICLR workshop."""


@rule("lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable")
def RAdam(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
          decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
          differentiable=False):  # fmt: skip
    """Adam whose rate is rectified while its variance cannot be known yet. Source: Liu et al.,
    2019, arXiv 1908.03265."""


@rule(
    "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable",
    momentum=0,
    centered=False,
)
def RMSprop(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
            capturable=False, foreach=None, maximize=False, differentiable=False):  # fmt: skip
    """Steps by the gradient over the root of its running mean square. Source: Hinton, 2012, lecture
    6 of Neural Networks for Machine Learning; Graves, 2013, arXiv 1308.0850, for the centered form.
    """


@rule("lr etas step_sizes foreach maximize differentiable capturable")
def Rprop(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False,
          foreach=None, maximize=False, differentiable=False):  # fmt: skip
    """Steps by the sign of the gradient; each element's step grows or shrinks as the sign stays or
    turns. Source: Riedmiller and Braun, 1993, ICNN."""
    check("eta values", f"{etas[0]}, {etas[1]}", 0.0 < etas[0] < 1.0 < etas[1])
