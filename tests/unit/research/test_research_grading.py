"""How an answer to a graded question is judged."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.research.grade import Question, grade, load

ASKED = Question(
    "owner/name",
    "0" * 40,
    "tuned",
    "flow",
    "how does a request reach the handler",
    must=("src/app.py#App.dispatch", "src/a.py#one | src/b.py#two"),
    chains=(("serve", "dispatch"),),
    code=("self.handlers[name]()",),
    never=("No chain",),
)
ANSWER = """Two steps.

  App.serve → App.dispatch

src/app.py:3-9  App.dispatch
    return self.handlers[name]()
src/b.py:1  two
tests/test_app.py:2  test_dispatch
"""


def test_an_answer_with_everything_passes() -> None:
    assert grade(ASKED, ANSWER).passes


def test_what_is_missing_or_false_is_named() -> None:
    assert grade(ASKED, ANSWER.replace("App.dispatch", "dispatch")).wrong == ("src/app.py#App.dispatch",)
    assert grade(ASKED, ANSWER.replace("two", "twofold")).wrong == ("src/a.py#one | src/b.py#two",)
    assert grade(ASKED, ANSWER.replace("App.serve → App.dispatch", "App.dispatch → App.serve")).wrong
    assert grade(ASKED, f"{ANSWER}No chain leads there.").wrong == ("false: No chain",)
    assert grade(ASKED, ANSWER.replace("handlers[name]", "handlers[key]")).without == ASKED.code


def test_a_repeated_chain_is_wrong() -> None:
    assert grade(ASKED, f"{ANSWER}  App.serve → App.dispatch\n").wrong == ("a chain is listed twice",)


def test_a_test_before_required_production_code_is_wrong() -> None:
    early = f"tests/test_app.py:2  test_dispatch\n{ANSWER}"
    assert grade(ASKED, early).wrong == ("test before production code: tests/test_app.py",)
    assert grade(replace(ASKED, must=("tests/test_app.py#test_dispatch",)), early).right


def test_the_questions_are_44_on_seven_projects() -> None:
    questions = load()
    assert len(questions) == 44
    assert len({question.project for question in questions}) == 7
    assert sum(question.use == "finding" for question in questions) == 14
    assert all(question.must for question in questions)
