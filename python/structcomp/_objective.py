"""Custom losses."""

from __future__ import annotations

import copy
from typing import Any, Callable, Optional, Union

import numpy as np

from ._arrays import single


class Objective:
    """A contrastive model of your own: a loss with its gradient.

    Parameters
    ----------
    function : callable
        Called in every epoch with one array of shape (n_clusters, width) per view. Returns a tuple of the
        loss and its gradients: a list with one array per view, of the view's shape. With one view, the array
        alone is enough.
    views : int
        1 compares the clusters with each other. 2 adds a second view, which averages a random half of each
        cluster's members in every epoch. The encoder is an SGC with two hops for one view, a GCN for two.
    projection : int, optional
        Width of a two-layer projection head between the embedding and the loss; none by default.

    See Also
    --------
    autograd : an objective from a loss written in PyTorch.

    Examples
    --------
    Pull the two views of each cluster together, and keep all rows at length one:

    >>> import numpy as np
    >>> from structcomp import Objective, StructComp, generate
    >>> def bring_together(a, b):
    ...     apart = a - b
    ...     lengths = [(z**2).sum(1, keepdims=True) - 1 for z in (a, b)]
    ...     loss = (apart**2).sum() + sum((length**2).sum() for length in lengths)
    ...     return loss, [2 * apart + 4 * lengths[0] * a, -2 * apart + 4 * lengths[1] * b]
    >>> data = generate(nodes=300, edges=900)
    >>> model = StructComp(model=Objective(bring_together), hidden=16, epochs=30, random_state=0)
    >>> losses = model.fit(data).loss_history_
    >>> bool(losses[-1] < losses[0] / 2)
    True
    """

    def __init__(
        self, function: Callable[..., Any], *, views: int = 2, projection: Optional[int] = None
    ) -> None:
        if not callable(function):
            raise ValueError(f"an objective must be a function, not {function!r}")
        if views not in (1, 2):
            raise ValueError(f"views must be 1 or 2, not {views}")
        self.function = function
        self.views = views
        self.projection = projection

    def __call__(self, *views: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """The loss and one gradient per view, checked."""
        answer = self.function(*views)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ValueError("an objective must return a tuple of the loss and its gradients")
        loss, gradients = answer
        if isinstance(gradients, np.ndarray) and len(views) == 1 and gradients.ndim == 2:
            gradients = [gradients]
        gradients = [single("a gradient", gradient) for gradient in gradients]
        shapes, wanted = [gradient.shape for gradient in gradients], [view.shape for view in views]
        if shapes != wanted:
            raise ValueError(f"the gradients have shapes {shapes}, but the views have {wanted}")
        return float(loss), gradients

    def _started(self, learning_rate: float, weight_decay: float) -> Objective:
        """The objective for one training: with a copy of the module that is trained, if there is one."""
        function = self.function
        if not isinstance(function, _Autograd) or not function.has_parameters():
            return self
        function = function.started(learning_rate, weight_decay)
        return Objective(function, views=self.views, projection=self.projection)

    @property
    def _module(self) -> Any:
        """The module that is trained with the model, if there is one."""
        return self.function.function if isinstance(self.function, _Autograd) else None

    @property
    def parameters(self) -> dict[str, Any]:
        """Settings of the library."""
        return {"two_views": self.views == 2, "projection": self.projection}

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"Objective({name}, views={self.views}, projection={self.projection})"


def autograd(function: Callable[..., Any], *, views: int = 2, projection: Optional[int] = None) -> Objective:
    """An `Objective` from a loss written in PyTorch, with gradients by autograd.

    PyTorch is imported when the loss is first called.

    Parameters
    ----------
    function : callable
        Takes one tensor of shape (n_clusters, width) per view and returns the loss as a tensor. If it is a
        ``torch.nn.Module`` with parameters, every `fit` trains a copy of it with the encoder, by Adam with
        the same learning rate and weight decay; the estimator then has it as ``module_``. Parameters that a
        plain function uses are an error.
    views : int
        As in `Objective`.
    projection : int, optional
        As in `Objective`.

    Returns
    -------
    objective : Objective

    Examples
    --------
    >>> from structcomp import StructComp, autograd
    >>> def barlow_twins(a, b):
    ...     a, b = ((z - z.mean(0)) / z.std(0) for z in (a, b))
    ...     c = a.T @ b / len(a)
    ...     return ((1 - c.diag()) ** 2).sum() + 0.005 * (c - c.diag().diag()).pow(2).sum()
    >>> model = StructComp(model=autograd(barlow_twins), epochs=20)
    """
    return Objective(_Autograd(function), views=views, projection=projection)


def with_model(
    parameters: dict[str, Any], model: Union[str, Objective, Callable[..., Any]]
) -> tuple[Optional[Objective], dict[str, Any]]:
    """The custom loss, if there is one, and the parameters with the model's settings."""
    if isinstance(model, str):
        return None, {**parameters, "model": model}
    objective = model if isinstance(model, Objective) else Objective(model)
    objective = objective._started(parameters["learning_rate"], parameters["weight_decay"])
    return objective, {**parameters, **objective.parameters, "model": "own"}


class _Autograd:
    """A class, so that it can be pickled."""

    #: Trains the parameters of the function itself.
    optimizer: Any = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def has_parameters(self) -> bool:
        """Whether it is a module with parameters to train."""
        parameters = getattr(self.function, "parameters", None)
        return callable(parameters) and any(each.requires_grad for each in parameters())

    def started(self, learning_rate: float, weight_decay: float) -> _Autograd:
        """One with a copy of the module, which is trained."""
        import torch

        own = _Autograd(copy.deepcopy(self.function))
        parameters = [each for each in own._parameters() if each.requires_grad]
        own.optimizer = torch.optim.Adam(parameters, lr=learning_rate, weight_decay=weight_decay)
        return own

    def __call__(self, *views: np.ndarray) -> tuple[float, list[np.ndarray]]:
        import torch

        with torch.enable_grad():
            tensors = [torch.from_numpy(view).requires_grad_() for view in views]
            loss = self.function(*tensors)
            known = {id(each) for each in (*tensors, *(self._parameters() if self.optimizer else ()))}
            for leaf in _leaves(loss):
                if id(leaf) not in known:
                    raise ValueError(
                        f"the loss has a parameter of shape {tuple(leaf.shape)} that would not be trained; "
                        "pass the torch.nn.Module that has it to autograd, or call detach() on it"
                    )
            for tensor in tensors:
                tensor.grad = None
            if self.optimizer is not None:
                self.optimizer.zero_grad()
            loss.backward()
        if self.optimizer is not None:
            self.optimizer.step()
        zero = [np.zeros_like(view) for view in views]
        return loss.item(), [z if t.grad is None else t.grad.numpy() for z, t in zip(zero, tensors)]

    def _parameters(self) -> list[Any]:
        return list(self.function.parameters())  # type: ignore[attr-defined]


def _leaves(loss: Any) -> list[Any]:
    """The tensors whose gradients a loss would add to."""
    todo, seen, leaves = [loss.grad_fn], set(), []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        todo.extend(following for following, _ in node.next_functions)
    return leaves
