"""The base class of a request's picture, sound and clip.

The content is stored as plain bytes, so that requests can be compared, cached and sent.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from areaviz.trace.errors import InputError

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Medium(ABC):
    """The base of inputs that are not a text.

    A new medium needs a subclass, a line in `request.MEDIA`, and a field of `Request` with the name
    in `noun`. Files, links, messages and caches then support it.
    """

    # The word in messages. It is also the field of the request and the parameter of a link.
    noun: ClassVar[str]
    # The type of its array.
    dtype: ClassVar[type[np.generic]]
    # Names of the attributes with the sizes of the array, outermost first. An axis of three colours
    # follows these sizes. A medium without sizes is one row of any length.
    sizes: ClassVar[tuple[str, ...]]

    # The name in links.
    name: str

    @classmethod
    @abstractmethod
    def of(cls, name: str, array: npt.NDArray[Any]) -> Self:
        """Create a medium from its array."""

    @property
    @abstractmethod
    def content(self) -> bytes:
        """The bytes of its array."""

    @property
    def array(self) -> npt.NDArray[Any]:
        """The pixels or samples, read-only."""
        return self.unpacked(self.content, [getattr(self, size) for size in self.sizes])

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that identify the content."""
        return hashlib.sha256(self._described() + self.content).hexdigest()[:12]

    @property
    def entry(self) -> Any:
        """Everything except the content, as JSON."""
        return self.name

    @classmethod
    def unpacked(cls, content: bytes, sizes: list[int]) -> npt.NDArray[Any]:
        """Return the array of a content and its sizes, read-only.

        Raises:
            ValueError: The content has another size.
        """
        shape = (*sizes, 3) if cls.sizes else (-1,)
        return np.frombuffer(content, np.dtype(cls.dtype).newbyteorder("<")).reshape(shape)

    @classmethod
    def read(cls, entry: Any, array: npt.NDArray[Any]) -> Self:
        """Return the checked medium with an `entry`, which may be untrusted, and its array.

        Raises:
            ValueError: The entry or the type or shape of the array is wrong.
            InputError: The medium is outside its limits.
        """
        axes = len(cls.sizes) + 1
        has_colours = not cls.sizes or array.shape[-1:] == (3,)
        if array.dtype != cls.dtype or array.ndim != axes or not has_colours:
            raise ValueError(f"the {cls.noun} is not an array of the right shape and type")
        made = cls._of_entry(entry, array)
        made.check()
        return made

    def check(self) -> None:
        """Check a medium, which may be untrusted.

        Raises:
            InputError: The name cannot be part of a link, or the content is outside its limits.
        """
        if not NAME.fullmatch(self.name):
            raise InputError(
                f"The {self.noun}'s name has characters that a link cannot contain. Choose or"
                f" upload the {self.noun} again."
            )

    @classmethod
    def _of_entry(cls, entry: Any, array: npt.NDArray[Any]) -> Self:
        return cls.of(take({"name": entry}, "name", str), array)

    def _described(self) -> bytes:
        """Return the properties other than the content on which the digest depends, as bytes."""
        return b""


def take(entry: Any, key: str, kind: type[_Value]) -> _Value:
    """Return a required value of a JSON object, checked for its type.

    Raises:
        ValueError: It is missing or has the wrong type.
    """
    value = entry.get(key) if isinstance(entry, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f'"{key}" is missing or not a {kind.__name__}')
    return value
