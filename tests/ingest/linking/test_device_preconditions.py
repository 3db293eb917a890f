"""Habits of a device: what its tools need though no input says so."""

from __future__ import annotations

from dataclasses import replace

from ingest.linking.derive import derive_edges
from ingest.linking.device_preconditions import derive_preconditions
from ontology import Dependency, Parameter, Tool, load_ontology


def tool(name: str, inputs: str = "", *, description: str = "", namespace: str = "handheld") -> Tool:
    """A tool in short: ``"order_id note?"`` are a required and an optional input."""
    return Tool(
        id=f"{namespace}/{name}",
        name=name,
        description=description,
        parameters=tuple(Parameter(name=word.rstrip("?"), required=not word.endswith("?")) for word in inputs.split()),
        metadata={"namespace": namespace},
    )


INTERNET = (
    tool("read_internet_status", description="Says whether the handheld is online."),
    tool("toggle_internet", "on", description="Turns the internet connection on or off."),
)
POSITIONING = (
    tool("get_position_service_state"),
    tool("switch_position_service", "on", description="Enables or disables positioning."),
)
DEVICE = (*INTERNET, *POSITIONING)


def needs(tools: tuple[Tool, ...], name: str) -> dict[str, float]:
    """What one tool of the device needs, by name."""
    return {
        edge.target.removeprefix("handheld/"): edge.confidence
        for edge in derive_preconditions(tools)
        if edge.source == f"handheld/{name}"
    }


def test_what_is_found_to_be_off_is_switched_on() -> None:
    assert set(needs(DEVICE, "get_position_service_state")) == {"switch_position_service"}
    assert needs(DEVICE, "switch_position_service") == {}


def test_what_goes_online_looks_at_the_connection_first_and_what_only_computes_does_not() -> None:
    tools = (*DEVICE, tool("order_taxi", "passengers"), tool("calculate_tip", "amount"), tool("get_current_step_count"))
    assert set(needs(tools, "order_taxi")) == {"read_internet_status"}
    assert needs(tools, "calculate_tip") == {}
    assert needs(tools, "get_current_step_count") == {}


def test_the_usual_connection_is_surer_than_the_other_radios() -> None:
    radio = (tool("get_cellular_status"), tool("set_cellular", "on", description="Enables cellular data."))
    found = needs((*radio, *DEVICE, tool("order_taxi", "passengers")), "order_taxi")
    assert found["read_internet_status"] > 0.5 > found["get_cellular_status"] > 0


def test_what_holds_now_fills_an_input_and_has_needs_of_its_own() -> None:
    tools = (*DEVICE, tool("get_current_position"), tool("get_current_date"), tool("find_cinema", "position year?"))
    assert set(needs(tools, "find_cinema")) == {"get_current_position", "get_current_date", "read_internet_status"}
    assert set(needs(tools, "get_current_position")) == {"get_position_service_state"}


def test_a_tool_named_after_an_input_gives_it_and_one_that_validates_it_checks_it() -> None:
    tools = (*DEVICE, tool("get_postal_code", "town"), tool("verify_phone", "text"), tool("ship", "postal_code phone"))
    named = (*tools, tool("ship_parcel", "postal_code phone"))
    assert set(needs(named, "ship_parcel")) == {"get_postal_code", "verify_phone", "read_internet_status"}
    [filled] = [edge for edge in derive_preconditions(named) if edge.target == "handheld/get_postal_code"]
    assert (filled.predicate, filled.parameter, filled.source) == ("depends_on", "postal_code", "handheld/ship_parcel")


def test_an_application_is_opened_by_its_own_login() -> None:
    tools = (*DEVICE, tool("lumo_login", "password"), tool("nara_sign_in", "password"), tool("nara_list_trips", "year"))
    assert set(needs(tools, "nara_list_trips")) == {"nara_sign_in", "read_internet_status"}
    assert "nara_sign_in" not in needs(tools, "lumo_login")


def test_without_two_states_that_are_read_and_switched_there_is_no_device() -> None:
    rest = (tool("get_current_date"), tool("book_room", "date"), tool("order_taxi", "passengers"))
    assert list(derive_preconditions((*INTERNET, *rest))) == []
    assert list(derive_preconditions((*INTERNET, POSITIONING[0], *rest))) == []
    elsewhere = tuple(replace(each, metadata={"namespace": "other"}) for each in POSITIONING)
    assert list(derive_preconditions((*INTERNET, *elsewhere, *rest))) == []


def test_a_source_that_declares_dependencies_is_believed() -> None:
    declared = replace(tool("order_taxi", "passengers"), depends_on=(Dependency(tool="handheld/toggle_internet"),))
    assert list(derive_preconditions((*DEVICE, declared))) == []


def test_edges_do_not_depend_on_the_order_of_the_catalogue_and_no_tool_needs_itself() -> None:
    tools = (*DEVICE, tool("get_current_date"), tool("get_date", "year?"), tool("book_room", "date position"))
    found = list(derive_preconditions(tools))
    assert sorted(found, key=repr) == sorted(derive_preconditions(tools[::-1]), key=repr)
    assert all(edge.source != edge.target and 0 < edge.confidence <= 1 for edge in found)
    derived = [edge for edge in derive_edges(tools, load_ontology()) if edge.predicate == "depends_on"]
    assert derived == found
