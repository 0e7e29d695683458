"""Names that a reader expects to find letter by letter."""

import pytest

from askbook.retrieval.identifiers import FEW, holding, names_in


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What does colcon build --symlink-install do?", ("--symlink-install",)),
        ("ERR_42", ("ERR_42",)),
        ("When does rclpy.spin return?", ("rclpy.spin",)),
        ("Who publishes on /cmd_vel?", ("/cmd_vel",)),
        ("What is std::io::ErrorKind?", ("std::io::ErrorKind",)),
        ("Why E0507?", ("E0507",)),
        ("How do I use the TransformListener?", ("TransformListener",)),
        ("What is `colcon test`?", ("colcon test",)),
        ('Why does it say "permission denied"?', ("permission denied",)),
        ("What is a topic, and/or a service, e.g. in ROS 2 at 0.25 m/s?", ()),
        ("What does this print?\n```\nrclpy.spin(node)\n```", ()),
        ("What prints a_b, c_d, e_f and g_h?", ()),
    ],
)
def test_names_are_told_from_words(question: str, names: tuple[str, ...]) -> None:
    assert names_in(question) == names


def test_only_the_whole_name_counts() -> None:
    texts = {"whole": "call rclpy.spin(node)", "part": "rclpy.spin_once", "apart": "rclpy, spin"}
    assert holding("rclpy.spin", ("rclpy.spin",), texts) == {"whole"}


def test_a_flag_is_not_the_beginning_of_a_longer_one() -> None:
    texts = {"longer": "Pass --log-level-file.", "whole": "Pass `--log-level`, or nothing."}
    assert holding("--log-level", ("--log-level",), texts) == {"whole"}


def test_the_chunk_with_most_of_the_names_is_meant() -> None:
    texts = {"both": "ros2 run --args a_b", "one": "a_b", "none": "c"}
    assert holding("--args a_b", ("--args", "a_b"), texts) == {"both"}
    assert holding("x_y", ("x_y",), texts) == set()


def test_a_name_that_stands_everywhere_singles_out_nothing_unless_it_is_all_that_is_asked() -> None:
    texts = {str(n): "use_sim_time" for n in range(FEW + 1)}
    assert holding("Which lesson sets use_sim_time first?", ("use_sim_time",), texts) == set()
    assert holding("What is use_sim_time?", ("use_sim_time",), texts) == set(texts)
