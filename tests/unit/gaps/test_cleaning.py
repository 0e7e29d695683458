"""What is taken out of a question before it is kept, and what must stay."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.gaps.cleaning import LONGEST, REMOVED, cleaned


@pytest.mark.parametrize(
    ("question", "private"),
    [
        ("Write to jane.doe+lab@example.co.uk about the arm?", "jane"),
        ("Write to jane.doe (at) example.org about it", "jane"),
        ("Why does ssh pi@raspberrypi hang?", "pi@"),
        ("Why does ssh jane\u200b@\u200bexample.org hang?", "jane"),
        ("Call me at +49 (30) 123 45 67 about motors", "123 45"),
        ("Call me at 555-123-4567 about motors", "4567"),
        ("Call me at ٠١٢٣٤٥٦٧٨٩ about motors", "٣"),
        ("My card 4111 1111 1111 1111 pays for the robot?", "1111"),
        ("Is customer 20251129 allowed to weld?", "20251129"),
        ("Open https://me:pw@host.org/a/b?session=abc#me now?", "session"),
        ("Open https://me:pw@host.org/a/b?session=abc#me now?", "me:pw"),
        ("Open example.org/x?user=jane now?", "jane"),
        ("Does sk-proj-abcdefghijklmnop work with it?", "abcdefgh"),
        ("Does ghp_AbCdEfGhIjKlMnOpQrStUvWxYz work with it?", "GhIj"),
        ("My token: swordfish does not work", "swordfish"),
        ("My password is hunter22, why is it refused?", "hunter22"),
        ("api_key=topsecret is refused, why?", "topsecret"),
        ("Is wJalrXUtnFEMI/K7MDENG/bPxRfiCY9 a secret key?", "MDENG"),
        ("What is 550e8400-e29b-41d4-a716-446655440000?", "550e"),
        ("Why is 192.168.178.23:8080 not reached?", "192"),
        ("Why is fe80::1ff:fe23:4567:890a not reached?", "fe23"),
        ("Why is 00:1B:44:11:3A:B7 not paired?", "3A"),
        ("Why is /home/jane/ros2_ws/src not built?", "jane"),
        ("Why is /Users/jane not built?", "jane"),
        (r"Why is C:\Users\Jane Doe\ros2_ws not built?", "Doe"),
        ("Why is /mnt/c/Users/jane/ws not built?", "jane"),
        ("My name is Jane Doe and I ask how to weld", "Jane"),
        ("hello, my full name is Jane O'Neil. How does it weld?", "Neil"),
    ],
)
def test_private_things_go(question: str, private: str) -> None:
    kept = cleaned(question)
    assert private not in kept
    assert kept
    assert cleaned(kept) == kept


@pytest.mark.parametrize(
    "question",
    [
        "How do I run colcon build --symlink-install in ros2_ws?",
        "Which baud rate, 115200 or 9600, does the servo need on port 11311?",
        "Does std::vector work with rclcpp::NodeOptions in C++17?",
        "What changed between ROS 2 Humble and Ubuntu 22.04.3?",
        "Why does @property not work with sensor_msgs/msg/PointCloud2?",
        "Is NavigateThroughPosesActionServer part of nav2_bt_navigator?",
        "What does ISO 10218-1:2011 say about 0.25 m/s at 12:30:45?",
        "How do I read /dev/ttyUSB0 in /opt/ros/humble/share/ros2launch?",
        "What does docs/02-ros2/04-urdf-and-tf2.mdx leave out?",
        "Wie schweißt man Aluminium mit einem Roboter?",
        "机器人如何焊接铝制零件以及不锈钢管道?",
        "Which token does the tokenizer give first?",
        "My password is not accepted, what does the book say?",
    ],
)
def test_what_is_about_the_subject_stays(question: str) -> None:
    assert cleaned(question) == question


def test_the_path_of_an_address_and_of_a_home_stays() -> None:
    assert (
        cleaned("See https://docs.ros.org/en/humble?x=1 ?")
        == "See https://docs.ros.org/en/humble ?"
    )
    assert cleaned("In /home/jane/ros2_ws/src, why?") == "In ~/ros2_ws/src, why?"


@pytest.mark.parametrize(
    "question", ["", "  ", "?!", "jane@example.org", "+49 30 1234567, 12345678"]
)
def test_nothing_is_left_of_what_asks_nothing(question: str) -> None:
    assert cleaned(question) == ""


def test_long_questions_are_cut_between_words() -> None:
    kept = cleaned("why " * 200 + "jane@example.org")
    assert len(kept) <= LONGEST
    assert kept.endswith("why ...")


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)


@given(words, names, names, words)
def test_no_mail_address_stays(before: str, name: str, host: str, after: str) -> None:
    assert f"{name}@{host}.org" not in cleaned(f"{before} {name}@{host}.org {after}")


@given(
    words, st.lists(st.integers(10, 9999), min_size=4, max_size=6), st.sampled_from(" -./"), words
)
def test_no_telephone_number_stays(before: str, groups: list[int], by: str, after: str) -> None:
    number = by.join(map(str, groups))
    assert number not in cleaned(f"{before} +{number} {after}")


@given(words, st.ip_addresses(v=4), words)
def test_no_address_of_a_machine_stays(before: str, address: object, after: str) -> None:
    assert f" {address} " not in f" {cleaned(f'{before} {address} {after}')} "


@given(words, st.binary(min_size=12, max_size=32), words)
def test_no_long_hexadecimal_key_stays(before: str, key: bytes, after: str) -> None:
    shown = f"{key.hex()}7"
    assert shown not in cleaned(f"{before} {shown} {after}")


@given(st.text(max_size=400))
def test_the_result_is_one_clean_short_line(question: str) -> None:
    kept = cleaned(question)
    assert len(kept) <= LONGEST
    assert kept == " ".join(kept.split())
    assert "\x00" not in kept
    kept.encode()
    assert REMOVED not in kept or kept != REMOVED
