"""What every domain promises, as checks in plain words."""

from tpn2f.contract.checks import Finding, check_domain

__all__ = ["Finding", "check_domain"]
