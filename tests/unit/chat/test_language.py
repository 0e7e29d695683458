import pytest

from askbook.chat.language import is_foreign, language_of

ENGLISH = "The controller of the arm runs at 500 Hz. It sends joint positions over EtherCAT."
GERMAN = (
    "Der Regler des Arms läuft mit 500 Hz. Er sendet die Positionen und ist mit dem Netz verbunden."
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was ist ein Watchdog und wann stoppt er den Roboter?", "de"),
        ("¿Qué es un watchdog y cuándo detiene el robot?", "es"),
        ("Qu'est-ce que le format SDF et pourquoi est-il utile ?", "fr"),
        ("Что такое URDF?", "CYRILLIC"),
        ("什么是URDF?", "CJK"),
        ("How do nodes exchange messages?", "en"),
        ("When was Otto von Bismarck born?", None),
        ("URDF", None),
        ("", None),
    ],
)
def test_languages_are_known_by_their_function_words(text: str, language: str | None) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize("question", ["How fast is the arm?", "URDF?", "EtherCAT DIN EN 60204-1"])
def test_what_is_not_clearly_foreign_is_not(question: str) -> None:
    assert not is_foreign(question, [ENGLISH])


def test_a_question_is_foreign_to_a_book_and_not_to_another() -> None:
    question = "Wie schnell ist der Regler und wo ist er?"
    assert is_foreign(question, [ENGLISH])
    assert not is_foreign(question, [GERMAN])
    assert not is_foreign(question, [])
