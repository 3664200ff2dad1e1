"""Show a secret without giving it away."""

import re

POSTGRESQL_URL = r"postgres(ql)?://.*"


def mask(secret: str) -> str:
    """Hide a secret; of an address hide only the passwords, so that one still sees which server is meant.

    The user's password may hold any character, "@" and "?" too, so everything up to the last "@" goes:
    better to hide a piece of the host than to show a piece of the password.
    """
    if not re.match(POSTGRESQL_URL, secret, re.DOTALL):
        return "***" if secret else ""
    without_user_password = re.sub(r"(://[^:]*:).*@", r"\1***@", secret, flags=re.DOTALL)
    return re.sub(r"(password=)[^&]*", r"\1***", without_user_password)
