import threading

import pytest

from turnlens.papers.generation import within


def test_work_without_end_is_stopped() -> None:
    def loop() -> None:
        threading.current_thread().name = "endless"
        while True:
            pass

    with pytest.raises(TimeoutError):
        within(0.01, loop)
    for thread in threading.enumerate():
        if thread.name == "endless":
            thread.join(60)
            assert not thread.is_alive()
