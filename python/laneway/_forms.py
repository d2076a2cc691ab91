"""The three forms of an operation, made from one description of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from laneway._request import Request

P = ParamSpec("P")
_EXAMPLE = "\n\n>>>"
Owner = TypeVar("Owner")


class Call(NamedTuple):
    """A call of the library: the operation's name, its arguments, the arrays that they point into, and what else has to live
    as long as a request."""

    name: str
    arguments: list[Any]
    arrays: list[Any]
    kept: list[Any]


class Runners(NamedTuple):
    """What makes a call, given the communicator or topology: at once, under way, or to be started again and again."""

    blocking: Callable[[Any, Call], None]
    nonblocking: Callable[[Any, Call], Request]
    persistent: Callable[[Any, Call, dict[str, object]], Request]


def _name(form: Any, name: str, described: Callable[..., Any], text: str, returns: str, hints: bool = False) -> None:
    signature = inspect.signature(described)
    parameters = list(signature.parameters.values())
    if hints:
        parameters.append(inspect.Parameter("hints", inspect.Parameter.VAR_KEYWORD, annotation="object"))
    form.__name__, form.__qualname__ = name, described.__qualname__.removesuffix(described.__name__) + name
    form.__module__ = described.__module__
    said = inspect.cleandoc(described.__doc__ or "")
    # The example is that of the blocking form.
    form.__doc__ = f"{said.partition(_EXAMPLE)[0]}{text}" if text else said
    form.__signature__ = signature.replace(parameters=parameters, return_annotation=returns)


def forms(
    described: Callable[Concatenate[Owner, P], Call], runners: Runners
) -> tuple[Callable[Concatenate[Owner, P], None], Callable[Concatenate[Owner, P], Request], Callable[..., Request]]:
    """The blocking, nonblocking and persistent form of what ``_name`` describes: ``name``, ``iname`` and ``name_init``."""
    name = described.__name__.removeprefix("_")
    takes = frozenset(inspect.signature(described).parameters)

    def blocking(owner: Owner, /, *arguments: P.args, **named: P.kwargs) -> None:
        runners.blocking(owner, described(owner, *arguments, **named))

    def nonblocking(owner: Owner, /, *arguments: P.args, **named: P.kwargs) -> Request:
        return runners.nonblocking(owner, described(owner, *arguments, **named))

    def persistent(owner: Owner, /, *arguments: Any, **named: Any) -> Request:
        hints = {key: named.pop(key) for key in list(named) if key not in takes}
        return runners.persistent(owner, described(owner, *arguments, **named), hints)

    _name(blocking, name, described, "", "None")
    _name(nonblocking, f"i{name}", described, f"\n\nAs `{name}`, nonblocking: returns a Request that is under way.", "Request")
    again = f"\n\nAs `{name}`, persistent: plans once, and returns a Request to start again and again. Collective."
    _name(persistent, f"{name}_init", described, again, "Request", True)
    return blocking, nonblocking, persistent
