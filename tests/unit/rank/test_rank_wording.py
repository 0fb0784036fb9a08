"""A pasted message against the text that holds its template."""

from __future__ import annotations

import pytest

from findspot.rank.wording import Wording

RENDERED = "Cannot resolve keyword 'foo' into field. Choices are: id, name"


def share(query: str, text: str) -> float:
    return Wording(query).share(text)


@pytest.mark.parametrize(
    "text",
    [
        """error("Cannot resolve keyword '%s' into field. "\n    "Choices are: %s" % (name, known))""",
        '''f"Cannot resolve keyword '{name}' into field. Choices are: {', '.join(known)}"''',
        """"Cannot resolve keyword '{0}' into field. Choices are: {1}".format(name, known)""",
        "`Cannot resolve keyword '${this.names.get(key)}' into field. Choices are: ${known}`",
        '''"Cannot resolve keyword '#{name}' into field. Choices are: #{known}"''',
        r'''"Cannot resolve keyword '\(name)' into field. Choices are: \(known)"''',
        """fmt.Errorf("Cannot resolve keyword %q into field. Choices are: %v", name, known)""",
        '''"Cannot resolve keyword '$name' into field. Choices are: $known"''',
        """'Cannot resolve keyword ' . $this->name() . ' into field. Choices are: ' . $known""",
        """"Cannot resolve keyword '" + name +\n    "' into field. " +\n    "Choices are: " + known""",
        """"Cannot resolve keyword " << name << " into field. Choices are: " << known""",
        r'''"Cannot resolve keyword\n\"%(name)s\" into field.\nChoices are: %(known)s"''',
    ],
)
def test_a_template_holds_what_was_made_of_it(text: str) -> None:
    assert share(RENDERED, text) == pytest.approx(0.7)


def test_the_words_themselves_are_held_whole() -> None:
    assert share("view function did not return a value", '"The view function did not return a value."') == 1


def test_a_fragment_is_held_whole() -> None:
    assert share("did not return a valid", '"The view function did not return a valid response."') == 1


def test_what_stands_before_a_message_counts_as_its_own_words() -> None:
    assert share("ValueError: the till is not open", 'ValueError("the till is not open")') == 1
    assert share("app: the till is not open", 'panic("the till is not open")') == pytest.approx(5 / 6)


def test_a_value_is_one_word_however_it_is_written() -> None:
    text = 'f"cannot connect to {host} in time"'
    assert share("cannot connect to 127.0.0.1:8080 in time", text) == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("how to remove empty elements in a list", "Now remove empty elements in a list of strings."),
        ("charge a card and try again after a while", "Charge a card, then try again soon after a while"),
        ("the till is open", '"open is till the"'),
        ("where is it", "where is it"),
        ("close the open till now", f'"close the %s" {"word " * 50} "till now"'),
    ],
)
def test_words_that_go_on_otherwise_are_no_evidence(query: str, text: str) -> None:
    assert share(query, text) == 0


@pytest.mark.parametrize("query", ["", " ", "?! ... ---", "till"])
def test_a_query_without_a_run_of_words_is_no_message(query: str) -> None:
    assert not Wording(query).is_message
    assert share(query, query) == 0
