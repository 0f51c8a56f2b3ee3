"""How lists of the long tail go on: every entry is read once, whatever the pages' lengths."""

from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.provider.longtail.pages import by_offset


@given(entries=st.integers(0, 40), most=st.integers(1, 7))
def test_offsets_lead_to_each_entry_once(entries, most):
    paging = by_offset("limit", 100, ("page", "count"))
    assert paging.size == {"limit": "100"}  # which a cloud may cut down to what it gives at most
    asked, read = dict(paging.size), []
    while True:
        begins = int(asked.get("offset", "0"))
        servers = list(range(entries))[begins : begins + most]
        body = {"servers": servers, "notices": ["a list beside it is not counted"], "page": {"count": entries}}
        assert paging.total(body) == entries
        read += servers
        following = paging.after(body, asked, len(servers))
        if following is None:
            break
        asked |= following
    assert read == list(range(entries))


def test_an_offset_leads_nowhere_where_a_page_is_empty_or_no_total_is_told():
    paging = by_offset("limit", 2, ("page", "count"))
    assert paging.after({"servers": [], "page": {"count": 3}}, {"offset": "2"}, 0) is None
    assert paging.after({"servers": [1, 2]}, {}, 2) is None
    assert paging.total({"servers": [1, 2]}) is None
