"""Tool paths with alternatives: the gold set, its id, and its form in a file."""

from datagen import SyntheticRequest, ToolPath


def _request(path: ToolPath) -> SyntheticRequest:
    return SyntheticRequest(id="r", text="List the users", request_class="single-intent", path=path)


def test_a_slot_with_alternatives_is_a_list_in_the_row_and_is_read_back() -> None:
    request = _request(ToolPath(tools=("a", "b"), shape="set", alternatives=((), ("b2", "b3"))))
    assert request.to_json()["tools"] == ["a", ["b", "b2", "b3"]]
    assert SyntheticRequest.from_json(request.to_json()) == request


def test_a_path_without_alternatives_has_plain_ids_and_is_read_back() -> None:
    request = _request(ToolPath(tools=("a", "b"), shape="set"))
    assert request.to_json()["tools"] == ["a", "b"]
    assert SyntheticRequest.from_json(request.to_json()) == request


def test_the_path_id_is_that_of_the_gold_set() -> None:
    one = ToolPath(tools=("a", "b"), shape="set", alternatives=((), ("b2",)))
    same = ToolPath(tools=("b2", "a"), shape="set", alternatives=(("b",), ()))
    assert one.id == same.id
    assert one.id != ToolPath(tools=("a", "b"), shape="set").id
    assert one.id != ToolPath(tools=("a", "b", "b2"), shape="set").id


def test_the_path_id_of_a_path_without_alternatives_is_the_one_of_earlier_files() -> None:
    assert ToolPath(tools=("b", "a"), shape="chain").id == "7e18f737311b"
