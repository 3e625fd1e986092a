"""What a page costs, in instructions: a gate that a busy machine cannot disturb."""

import json

from benchmarks.instructions import RECORD, counted, interpreter

#: Of another interpreter or compiler, the figures differ more.
ALLOWED, ALLOWED_ELSEWHERE = 1.03, 1.15


def test_a_page_takes_no_more_instructions_than_recorded():
    recorded = json.loads(RECORD.read_text("utf-8"))
    allowed = ALLOWED if recorded["interpreter"] == interpreter() else ALLOWED_ELSEWHERE
    now = counted("clean")
    assert now <= allowed * recorded["clean"], (
        f"A page takes {now:.2f} million instructions, {recorded['clean']:.2f} are recorded. Find what made it slower, "
        "or record the new figure: `python -m benchmarks instructions --record`."
    )
