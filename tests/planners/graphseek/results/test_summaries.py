from hypothesis import given, settings
from hypothesis import strategies as st

from planners.calls.model_text import PromptTokens
from planners.graphseek.results import ResultStore
from tests.planners.graphseek.results.stores import column

TOKENS = PromptTokens()
NASTY = st.text(st.sampled_from('a\n\t\r\u2028\u0085\u202e\x00\x1b\u200b한𝔘🚗\U000e0041"\\|\udce9'), max_size=40).map(
    lambda text: text * 200
)


@settings(max_examples=25)
@given(
    names=st.lists(NASTY, min_size=1, max_size=3),
    width=st.sampled_from([1, 7, 200]),
    cells=st.lists(NASTY, max_size=12),
    title=NASTY,
)
async def test_the_summary_of_a_table_is_bounded(
    store: ResultStore, names: list[str], width: int, cells: list[str], title: str
) -> None:
    columns = [column(f"{names[at % len(names)]}{at}") for at in range(width)]
    rows = [tuple([cell] * width) for cell in cells]
    first, second = [await store.keep_table(columns, rows, title=title) for _ in range(2)]
    summary, again = (each.summary.replace(each.handle, "t") for each in (first, second))
    assert TOKENS.count(summary) <= 600
    assert summary == again
    assert all(line.isprintable() for line in summary.split("\n"))
    known = ("t: ", "rows", "columns:", "- ", "and ", '"')
    assert all(line.startswith(known) for line in summary.split("\n"))
