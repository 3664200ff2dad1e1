"""Whoever imports a DAG file on behalf of a service: it may read variables and connections, and nothing else."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from bide.hosting.answers import Answers
from bide.model.messages import Answer
from bide.model.questions import ReadByFile
from bide.model.timetable import Interval
from bide.process.masking import Masker
from bide.store.rows import Leg

MOST_QUESTIONS = 10_000


class FileReader:
    """Answers one import of a file, and knows what it has read. `digests` tell when one of that has changed."""

    key: Leg | None = None
    logical_date: datetime | None = None
    data_interval: Interval | None = None

    def __init__(self, path: str, answers: Answers) -> None:
        self.who = f"DAG file {path}"
        self.masker = Masker()
        self.digests: dict[ReadByFile, str] = {}
        self._answers = answers
        self._asked = 0

    async def answer(self, question: ReadByFile) -> Answer:
        """Answer a question."""
        self._asked += 1
        if self._asked > MOST_QUESTIONS:
            return Answer(refused=f"A DAG file may ask {MOST_QUESTIONS:,} times for variables and connections.")
        answer = await self._answers.answer(self, question)
        self.digests[question] = digest(answer)
        return answer


async def changed(read: Mapping[ReadByFile, str], answers: Answers) -> bool:
    """Say whether something that a file has read would be answered otherwise today."""
    reader = FileReader("", answers)
    for question, was in read.items():
        if digest(await reader.answer(question)) != was:
            return True
    return False


def digest(answer: Answer) -> str:
    """Tell an answer in short, without its secrets."""
    return hashlib.sha256(repr((answer.value, answer.refused)).encode(errors="replace")).hexdigest()
