"""The places of users that `start` understands, each with the nearest of the places where it can measure.

Nearest is by distance from the city of the place's regions; for Africa and the Middle East, whose cables lead there, it
is Europe.
"""

import re
import unicodedata

from cloudcmp.catalog.places import PLACES

_PART_OF = {
    "US": "us", "Canada": "us", "Europe": "europe", "Asia": "asia", "Australia": "australia",
    "South America": "south-america", "Africa and Middle East": "europe",
}  # fmt: skip
# Countries and their two letters, states, large cities, and names of whole parts of the world.
_WORDS = {
    "europe": """
        eu emea africa middle-east scandinavia
        albania al austria at belgium be bosnia ba bulgaria bg croatia hr cyprus cy czechia czech-republic cz denmark dk
        estonia ee finland fi france fr germany de deutschland greece gr hungary hu iceland is ireland ie italy it
        latvia lv lithuania lt luxembourg lu malta mt moldova md montenegro me netherlands holland nl norway no
        poland pl portugal pt romania ro russia ru serbia rs slovakia sk slovenia si spain es sweden se switzerland ch
        turkey tr ukraine ua united-kingdom uk gb great-britain britain england scotland wales
        algeria dz egypt eg ghana gh israel il jordan jo kenya ke kuwait kw lebanon lb morocco ma nigeria ng oman om
        qatar qa saudi-arabia sa south-africa za tunisia tn united-arab-emirates uae ae
        amsterdam athens barcelona berlin brussels bucharest budapest cairo copenhagen geneva hamburg helsinki istanbul
        kyiv lagos lisbon manchester moscow munich nairobi oslo prague rome vienna""",
    "us": """
        usa united-states united-states-of-america america north-america us-east us-west canada mexico mx cuba
        jamaica panama pa costa-rica cr guatemala gt colombia venezuela ve ecuador ec
        alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana
        iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana
        nebraska nevada new-hampshire new-jersey new-mexico new-york north-carolina north-dakota ohio oklahoma oregon
        pennsylvania rhode-island south-carolina south-dakota tennessee texas utah vermont virginia washington
        west-virginia wisconsin wyoming
        atlanta austin boston chicago denver houston los-angeles mexico-city miami new-york-city nyc phoenix
        philadelphia san-francisco san-diego seattle silicon-valley vancouver bogota""",
    "asia": """
        asia-pacific apac east-asia south-asia south-east-asia southeast-asia
        bangladesh bd cambodia kh china cn hong-kong hk india in indonesia id japan jp korea south-korea kr laos
        malaysia my mongolia mn myanmar nepal np pakistan pk philippines ph singapore sg sri-lanka lk taiwan tw
        thailand th vietnam vn
        bangalore bengaluru bangkok beijing chennai delhi dhaka hanoi ho-chi-minh-city karachi kolkata kuala-lumpur
        manila new-delhi shanghai shenzhen taipei""",
    "australia": "au oceania new-zealand nz fiji fj papua-new-guinea pg adelaide auckland brisbane canberra perth",
    "south-america": """
        latin-america latam argentina ar bolivia bo brazil brasil br chile cl paraguay py peru pe uruguay uy
        buenos-aires lima montevideo rio rio-de-janeiro""",
}


def _key(text: str) -> str:
    """A name as it is looked up: lower case without accents, `-` between its words."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace(".", "")).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-").removeprefix("the-")


_KNOWN: dict[str, str] = {
    **{_key(word): _PART_OF[place.part] for (_, region), place in PLACES.items() for word in (region, place.name)},
    **{word: users for users, words in _WORDS.items() for word in words.split()},
    **{users: users for users in _WORDS},
}


def nearest_place(text: str) -> str | None:
    """The nearest place of a starter to a country, a state, a city or a cloud's region; None if it is unknown."""
    return _KNOWN.get(_key(text))
