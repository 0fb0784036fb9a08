"""How commands end when the system tells them to."""

from __future__ import annotations

import signal

import anyio
import pytest

from findspot.serve.cli.interaction import stoppable, unwinding_on_sigterm


def test_sigterm_ends_a_command_with_its_own_code_wherever_it_arrives() -> None:
    """A group of tasks that it interrupts raises a group of errors, which Python ends with code 1."""

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(SystemExit) as ended, unwinding_on_sigterm():
        anyio.run(work)
    assert ended.value.code == 128 + signal.SIGTERM


def test_other_errors_are_left_alone() -> None:
    with pytest.raises(ValueError, match="its own"), unwinding_on_sigterm():
        raise ValueError("its own")


@pytest.mark.parametrize("still_wanted", [False, True])
def test_an_index_that_a_question_needs_is_still_wanted_after_ctrl_c(still_wanted: bool) -> None:
    with stoppable(still_wanted=still_wanted) as token:
        signal.raise_signal(signal.SIGINT)
    assert token.cancelled
    assert token.interrupted is still_wanted
