"""Secrets are masked in the spellings in which they come, and found where they stand."""

import pytest

from bide.process.masking import Masker, secrets_of_connection, secrets_of_variable


@pytest.mark.parametrize(
    ("secrets", "text", "masked"),
    [
        ([], "nothing is secret", "nothing is secret"),
        (["pass word"], "pass word pass%20word pass+word", "*** *** ***"),
        (['qu"ote\\'], r'{"p": "qu\"ote\\"} and qu"ote\ and', '{"p": "***"} and *** and'),
        (["short", "shorter"], "shorter short", "*** ***"),
        (["ab", ""], "ab is too short to be hidden", "ab is too short to be hidden"),
        (["-----BEGIN\nline one\nline two\n"], "x line two\n-----BEGIN\nline one\nline two\ny", "x ***\n***y"),
        (["a.*b"], "a.*b axxb", "*** axxb"),
        (["é€"], "é€", "é€"),
        (["é€漢"], "é€漢 %C3%A9%E2%82%AC%E6%BC%A2 \\u00e9\\u20ac\\u6f22", "*** *** ***"),
        (["half \ud800"], "nobody can write it", "nobody can write it"),
    ],
)
def test_secrets_are_masked(secrets: list[str], text: str, masked: str) -> None:
    masker = Masker()
    masker.learn(*secrets)
    assert masker(text) == masked


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("no", 0), ("ends with s", 1), ("ends with secre", 5), ("ends with secret", 0)]
)
def test_what_may_be_the_beginning_of_a_secret_is_counted(text: str, length: int) -> None:
    masker = Masker()
    assert masker.unfinished(text) == 0
    masker.learn("secret")
    assert masker.unfinished(text) == length


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("http://host/path", set()),
        ("postgresql://user:p%40ss@host/db", {"p%40ss", "p@ss"}),
        ("aws://?region_name=here&aws_secret_access_key=k+k", {"k k"}),
        ('x://?__extra__={"token": "t", "region": "here"}', {"t"}),
        ('{"conn_type": "http", "login": "me", "password": "p", "extra": {"nested": [{"api_key": "k"}]}}', {"p", "k"}),
        ('{"extra": "{\\"private_key\\": \\"multi\\\\nline\\", \\"port\\": 5}"}', {"multi\nline"}),
        ('{"credentials": {"id": "i", "more": ["m"]}}', {"i", "m"}),
        ("http://[broken", {"http://[broken"}),
        ("{broken", set()),
    ],
)
def test_the_secrets_of_a_connection_are_found(text: str, secrets: set[str]) -> None:
    assert set(secrets_of_connection(text)) == secrets


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("greeting", "hello", set()),
        ("API_KEY", "hello", {"hello"}),
        ("db_passwd", "hello", {"hello"}),
        ("settings", '{"user": "me", "Token": "t"}', {"t"}),
        ("settings", "[1, 2]", set()),
    ],
)
def test_the_secrets_of_a_variable_are_found(name: str, value: str, secrets: set[str]) -> None:
    assert set(secrets_of_variable(name, value)) == secrets
