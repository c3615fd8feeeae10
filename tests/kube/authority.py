"""A certificate authority made on the spot, with certificates for servers and clients."""

from datetime import UTC, datetime

from fairlead.live.webhook.certificates import Pair, issue, issue_user, make_authority

__all__ = ["Authority", "Pair"]


class Authority:
    def __init__(self) -> None:
        self._pair = make_authority(datetime.now(UTC))
        self.pem = self._pair.certificate

    def issue(self, name: str, *hosts: str) -> Pair:
        """A certificate for a client of that name, or for a server at these names or addresses."""
        now = datetime.now(UTC)
        return issue(self._pair, hosts, now) if hosts else issue_user(self._pair, name, (), now)
