"""What a connection says, as a URI or as JSON, and what of it may be shown."""

import pytest

from bide.errors import Refusal
from bide.model.connection import Connection, masked, read_connection


@pytest.mark.parametrize(
    ("text", "connection"),
    [
        ("http://", Connection(conn_type="http")),
        ("postgresql://h", Connection(conn_type="postgres", host="h")),
        ("google-cloud-platform://", Connection(conn_type="google_cloud_platform")),
        (
            "mysql://me%40x:p%2F%3Aw@db:3306/a%2Fb?charset=utf8&x=",
            Connection(
                conn_type="mysql",
                host="db",
                port=3306,
                login="me@x",
                password="p/:w",
                schema="a/b",
                extra={"charset": "utf8", "x": ""},
            ),
        ),
        ("http://h?__extra__=%7B%22a%22%3A%20%5B1%5D%7D", Connection(conn_type="http", host="h", extra={"a": [1]})),
        ('{"conn_type": "http", "host": "h", "port": "80"}', Connection(conn_type="http", host="h", port=80)),
        ('{"conn_type": "http", "port": "", "extra": null}', Connection(conn_type="http")),
        (' {"extra": "{\\"a\\": 1}", "more": 1}', Connection(extra={"a": 1})),
    ],
)
def test_a_connection_is_read(text: str, connection: Connection) -> None:
    assert read_connection(text) == connection


@pytest.mark.parametrize(
    "text",
    ["", "hush", "host:5432", "http://[hush", "http://h:hush", "{", "{}x", '{"host": 3}', '{"extra": "[hush]"}'],
)
def test_what_is_none_is_refused_without_a_word_of_it(text: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read_connection(text)
    assert "hush" not in str(refusal.value)


def test_secrets_are_masked_wherever_they_stand() -> None:
    extra = {
        "timeout": 3,
        "Api_Key": "hush",
        "nested": [{"token": "hush", "region": "eu"}],
        "private_key": {"a": "hush"},
    }
    shown = masked(Connection(conn_type="x", login="me", password="hush", extra=extra))
    assert "hush" not in repr(shown)
    assert (shown.login, shown.extra["timeout"], shown.extra["nested"]) == ("me", 3, [{"token": "***", "region": "eu"}])
    assert masked(Connection(conn_type="x")) == Connection(conn_type="x")
