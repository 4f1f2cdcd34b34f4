"""Visitors, who use shares: a reader at a network address, and the error for a used-up share."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass

from areaviz.shares.limits import ADDRESS_FACTOR, ANONYMOUS_FACTOR, Limit, Scope
from areaviz.trace.errors import BackendBusy


@dataclass(frozen=True, slots=True)
class Visitor:
    """A reader and the network address of the reader's connection.

    Args:
        reader: the id in the cookie, "" for a connection without one.
        address: as `network_of` returns it. "" if many readers share the address or if it is not
            known; such readers are not held to a share of the address.
    """

    reader: str = ""
    address: str = ""

    def accounts(self) -> tuple[tuple[Scope, str], ...]:
        """Return the accounts to which this visitor's use is added."""
        own = (Scope.READER, self.reader) if self.reader else (Scope.ANONYMOUS, "")
        return (own, (Scope.ADDRESS, self.address)) if self.address else (own,)


class OverLimit(BackendBusy):
    """Error for a visitor who has used up a share.

    Args:
        limit: the row of the table.
        scope: whose share is used up: the reader's, the address's, or that of all connections
            without a cookie.
    """

    def __init__(self, limit: Limit, scope: Scope) -> None:
        sentences = [limit.said(), limit.advice]
        if scope is Scope.ADDRESS:
            sentences.insert(1, ADDRESS_FACTOR.said())
        if scope is Scope.ANONYMOUS:
            sentences.insert(1, ANONYMOUS_FACTOR.said())
        super().__init__(" ".join(sentences))
        self.limit, self.scope = limit, scope


def most_of(limit: Limit, scope: Scope) -> float:
    """Return how much an account of this scope may use, as a multiple of a reader's share."""
    if scope is Scope.ADDRESS:
        return limit.value() * ADDRESS_FACTOR.value()
    if scope is Scope.ANONYMOUS:
        return limit.value() * ANONYMOUS_FACTOR.value()
    return limit.value()


def network_of(client: str, proxies: Collection[str] = ()) -> str:
    """Return the address by which shares are counted.

    A provider assigns the first 64 bits of an IPv6 address to one customer, so only these count.

    Args:
        client: the address of the other side of a connection.
        proxies: addresses of proxies that the operator named.

    Returns:
        The address, or "" if it represents many readers: this machine's own address, or a proxy
        that did not say which client it acts for.
    """
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return ""
    if client in proxies or address.is_loopback:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return network_of(str(address.ipv4_mapped), proxies)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return client
