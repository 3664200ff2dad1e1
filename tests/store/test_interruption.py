"""A connection that is lost for long is spoken of twice."""

import pytest

from bide.store.interruption import Interruption


def test_a_loss_is_told_once_however_often_it_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    interruption = Interruption("The wire", "waiting")
    interruption.back()
    for _ in range(3):
        interruption.lost(OSError("cut"))
    interruption.back()
    interruption.back()
    interruption.lost(OSError("again"))
    assert [record.message for record in caplog.records] == [
        "The wire is lost; waiting: OSError('cut')",
        "The wire is back.",
        "The wire is lost; waiting: OSError('again')",
    ]
