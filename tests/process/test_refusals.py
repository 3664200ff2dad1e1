"""What only a person can mend is said at once, in a sentence that names what to mend."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from bide import embedded
from bide.errors import DatabaseUnavailable
from bide.store import jobs
from bide.store.database import connected


def with_parts(url: str, **parts: str) -> str:
    return urlunsplit(urlsplit(url)._replace(**parts))


async def refusal(url: str) -> str:
    """Return what a refused login is told, and see that it is told at once."""
    async with connected(url, patience_sec=30) as db:
        with pytest.raises(DatabaseUnavailable) as refused:
            await asyncio.wait_for(jobs.loads(db), 5)
        assert db.retries == 0
    return str(refused.value)


async def test_what_only_a_person_can_mend_is_said_at_once(folder: Path) -> None:
    with embedded.running(folder) as server:
        user, _, host = urlsplit(server.url).netloc.rpartition("@")
        assert 'password authentication failed for user "bide"' in await refusal(
            with_parts(server.url, netloc=f"bide:wrong@{host}")
        )
        assert 'database "nowhere" does not exist' in await refusal(with_parts(server.url, path="/nowhere"))
        assert "sslmode" in await refusal(with_parts(server.url, query="sslmode=perhaps"))
        assert "Correct the user, the password" in await refusal(with_parts(server.url, netloc=f"x{user}@{host}"))


def self_signed(to: Path) -> None:
    """Write a key and a certificate that nobody else knows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now, day = datetime.now(UTC), timedelta(days=1)
    certificate = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    certificate = certificate.public_key(key.public_key()).not_valid_before(now - day).not_valid_after(now + day)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    to.write_bytes(secret + certificate.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))


@asynccontextmanager
async def server_with_certificate(file: Path) -> AsyncIterator[str]:
    """Begin as PostgreSQL does with TLS; the server that comes along is built without."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)

    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)
        writer.write(b"S")
        try:
            await writer.start_tls(context)
        except OSError:
            writer.transport.abort()

    async with await asyncio.start_server(welcome, "127.0.0.1", 0) as server:
        yield f"postgresql://bide@127.0.0.1:{server.sockets[0].getsockname()[1]}/postgres"


async def test_a_certificate_that_is_not_trusted_is_refused_at_once(tmp_path: Path) -> None:
    shown, trusted = tmp_path / "shown.pem", tmp_path / "trusted.pem"
    self_signed(shown)
    self_signed(trusted)
    async with server_with_certificate(shown) as address:
        said = await refusal(with_parts(address, query=f"sslmode=verify-ca&sslrootcert={trusted}"))
    assert "certificate verify failed" in said
    assert "the certificates in database.url" in said
