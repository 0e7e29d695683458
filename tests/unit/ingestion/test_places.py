"""Places: every lesson has a slot of its own, from frontmatter, names or position."""

from hypothesis import given, settings
from hypothesis import strategies as st
from small_books import Write, read_folder

from askbook.book import Book, Lesson
from askbook.ingestion.readers.base import Declared
from askbook.ingestion.readers.places import Position, share_out

TEXT = "Some text here.\n"


def slots(lessons: dict[str, Lesson]) -> dict[str, tuple[str, int, int]]:
    return {name: (x.slot.module, x.slot.chapter, x.slot.lesson) for name, x in lessons.items()}


def test_numbers_come_from_names(write: Write) -> None:
    folder = write(
        {
            "module-01-ros2/chapter-02-nodes/lesson-03-topics.md": TEXT,
            "module-01-ros2/chapter-02-nodes/README.md": TEXT,
            "02-sim/01-worlds/04-lights.md": TEXT,
            "02-sim/chapter-07.md": TEXT,
            "02-sim/index.md": TEXT,
        }
    )
    assert slots(read_folder(folder)) == {
        "module-01-ros2/chapter-02-nodes/README.md": ("ros2", 2, 0),
        "module-01-ros2/chapter-02-nodes/lesson-03-topics.md": ("ros2", 2, 3),
        "02-sim/index.md": ("sim", 0, 0),
        "02-sim/01-worlds/04-lights.md": ("sim", 1, 4),
        "02-sim/chapter-07.md": ("sim", 7, 0),
    }


def test_without_numbers_the_position_decides(write: Write) -> None:
    folder = write(
        dict.fromkeys(("m/a/x2.md", "m/a/x10.md", "m/b/y.md", "m/direct.md", "root.md"), TEXT)
    )
    assert slots(read_folder(folder)) == {
        "m/a/x2.md": ("m", 1, 1),
        "m/a/x10.md": ("m", 1, 2),
        "m/b/y.md": ("m", 2, 1),
        "m/direct.md": ("m", 0, 1),
        "root.md": ("main", 0, 1),
    }


def test_frontmatter_wins_over_names(write: Write) -> None:
    folder = write(
        {"m/01-a/02-b.md": f"---\nmodule: Other Part\nchapter: 5\nlesson: 7\n---\n{TEXT}"}
    )
    assert slots(read_folder(folder))["m/01-a/02-b.md"] == ("other-part", 5, 7)


def test_sidebar_position_counts_when_the_name_has_no_number(write: Write) -> None:
    folder = write(
        {
            "m/a/b.md": f"---\nsidebar_position: 4\n---\n{TEXT}",
            "m/a/09-c.md": f"---\nsidebar_position: 2\n---\n{TEXT}",
        }
    )
    assert slots(read_folder(folder)) == {"m/a/09-c.md": ("m", 1, 9), "m/a/b.md": ("m", 1, 4)}


def test_the_second_file_in_a_slot_takes_the_next_free_number(write: Write) -> None:
    folder = write(dict.fromkeys(("m/c/01-a.md", "m/c/01-b.md", "m/c/02-d.md"), TEXT))
    lessons = read_folder(folder)
    assert slots(lessons) == {
        "m/c/01-a.md": ("m", 1, 1),
        "m/c/01-b.md": ("m", 1, 2),
        "m/c/02-d.md": ("m", 1, 3),
    }
    assert lessons["m/c/01-a.md"].warnings == ()
    (warning,) = lessons["m/c/01-b.md"].warnings
    assert "m/c/01-a.md" in warning
    assert "lesson 2" in warning


def test_manifest_modules_aliases_and_bounds(write: Write) -> None:
    folder = write(
        {
            "askbook.toml": 'max_chapter = 3\nmax_lesson = 5\n[[modules]]\nname = "simulation"\ntitle = "Simulation"\naliases = ["gazebo"]\n[[modules]]\nname = "intro"\n',
            "03-gazebo/a.md": TEXT,
            "odd/b.md": TEXT,
            "intro.md": TEXT,
            "03-gazebo/c.md": f"---\nmodule: nope\nchapter: 9\nlesson: 6\n---\n{TEXT}",
        }
    )
    lessons = read_folder(folder)
    assert slots(lessons) == {
        "03-gazebo/a.md": ("simulation", 0, 1),
        "03-gazebo/c.md": ("simulation", 9, 6),
        "intro.md": ("intro", 0, 1),
        "odd/b.md": ("odd", 0, 1),
    }
    assert lessons["03-gazebo/a.md"].module_title == "Simulation"
    assert lessons["03-gazebo/a.md"].warnings == ()
    assert any("'odd'" in warning for warning in lessons["odd/b.md"].warnings)
    said = " ".join(lessons["03-gazebo/c.md"].warnings)
    assert all(part in said for part in ("nope", "max_chapter of 3", "max_lesson of 5"))


def test_titles_of_folders_come_from_their_index_page_or_name(write: Write) -> None:
    folder = write(
        {
            "01-arms/02-joints/index.md": "# All about joints\n",
            "01-arms/02-joints/a.md": TEXT,
            "01-arms/03-end_effectors/b.md": TEXT,
        }
    )
    lessons = read_folder(folder)
    assert lessons["01-arms/02-joints/a.md"].chapter_title == "All about joints"
    assert lessons["01-arms/03-end_effectors/b.md"].chapter_title == "End effectors"
    assert lessons["01-arms/02-joints/a.md"].module_title == "Arms"


NUMBER = st.one_of(st.none(), st.integers(0, 4))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.sampled_from(["", "x", "y"]),
            NUMBER,
            NUMBER,
            NUMBER,
            st.booleans(),
        ),
        max_size=25,
    )
)
def test_no_two_lessons_ever_share_a_slot(
    rows: list[tuple[str, str, int | None, int | None, int | None, bool]],
) -> None:
    declared: list[Declared] = []
    positions: dict[str, Position] = {}
    for index, (module, key, folder_number, chapter, lesson, is_index) in enumerate(rows):
        name = f"{module}/{key}/{index}.md"
        declared.append(
            Declared(name, name, "/", None, chapter, lesson, None, 1, "A2", "L1", is_index)
        )
        positions[name] = Position(module, module, key, None, folder_number if key else None)
    places = share_out(declared, positions, Book("b", "B"))
    assert len({place.slot for place in places.values()}) == len(rows)
    assert places == share_out(declared, positions, Book("b", "B"))
