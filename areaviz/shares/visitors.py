"""Visitors, whose use is limited by shares, and the error for a visitor without a share left."""

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
        reader: the id in the cookie, or "" for a connection without a cookie.
        address: the address that `find_network` returns. It is "" if many readers share the address
            or if it is unknown. Only the reader's share then limits a visitor.
    """

    reader: str = ""
    address: str = ""

    def accounts(self) -> tuple[tuple[Scope, str], ...]:
        """Return the accounts to which the visitor's use is added: reader and network address."""
        own = (Scope.READER, self.reader) if self.reader else (Scope.ANONYMOUS, "")
        return (own, (Scope.ADDRESS, self.address)) if self.address else (own,)


class OverLimit(BackendBusy):
    """Error for a visitor who has used up a share.

    Args:
        limit: the row of the table.
        scope: the unit whose share is used up: the reader, the address, or all connections without
            a cookie.
    """

    def __init__(self, limit: Limit, scope: Scope) -> None:
        sentences = [limit.said(), limit.advice]
        if scope is Scope.ADDRESS:
            sentences.insert(1, ADDRESS_FACTOR.said())
        if scope is Scope.ANONYMOUS:
            sentences.insert(1, ANONYMOUS_FACTOR.said())
        super().__init__(" ".join(sentences))
        self.limit, self.scope = limit, scope


def get_limit_of_scope(limit: Limit, scope: Scope) -> float:
    """Return how much an account with this scope may use, in the unit of the limit."""
    if scope is Scope.ADDRESS:
        return limit.value() * ADDRESS_FACTOR.value()
    if scope is Scope.ANONYMOUS:
        return limit.value() * ANONYMOUS_FACTOR.value()
    return limit.value()


def find_network(client: str, proxies: Collection[str] = ()) -> str:
    """Return the address by which shares are counted.

    A provider assigns the first 64 bits of an IPv6 address to one customer, so only these count.

    Args:
        client: the address of the other side of a connection.
        proxies: addresses of proxies that the operator named.

    Returns:
        The address, or "" if it represents many readers. This is the case for this machine's own
        address, and for a proxy that did not state the address of its client.
    """
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return ""
    if client in proxies or address.is_loopback:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return find_network(str(address.ipv4_mapped), proxies)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return client
