# ruff: noqa: SIM905 (words in a text read better than a list of strings)
"""Names of the miniature encyclopedia: two words each, divided once and for all between training
worlds and held-out worlds.
"""

import random
import zlib
from itertools import product

WOMEN = (
    "Ada Alma Anka Berta Cora Dalia Edda Elin Enid Fenna Freya Gerda Greta Hana Hilda Ida Ilse Inga Irma Jana Karin Kira Lena Livia "
    "Lotta Maja Maren Milla Nadia Nora Odile Olga Orla Petra Rhea Rosa Runa Selma Signe Sonja Tamar Thea Tilda Una Vera Wanda Ylva Zora"
).split()
MEN = (
    "Abel Aldo Anton Arlo Basil Boris Bruno Caleb Casper Cyril Dario Edgar Egon Emil Ezra Felix Fritz Gavin Gustav Hanno Hugo Igor Ivo Jasper "
    "Jonas Julius Karl Lars Leo Linus Magnus Marek Milo Nils Oskar Otto Pavel Quentin Ralf Rufus Silas Sven Tomas Ulrich Viktor Walter Yuri Zeno"
).split()
LAST = [
    head + tail
    for head, tail in product(
        "Bran Vel Tor Ash Kel Mar Dun Hol Wex Pen Gar Lin".split(),
        "nick by wood man gate sen ner low der shaw".split(),
    )
]
PLACE = [
    head + tail
    for head, tail in product(
        "Ald Bur Cors Dray Esk Fal Grim Hes Jor Kirk Lox Mont".split(),
        "haven mouth ton ria ville stead holm dale".split(),
    )
]
COMPASS = "Port North South East West New Old Upper Lower Great Saint Fort".split()
ADJECTIVES = (
    "Silent Broken Hidden Golden Crimson Distant Frozen Burning Hollow Gentle Bitter Fallen Restless Secret Wandering Pale Savage Quiet Drowned Painted "
    "Borrowed Crooked Endless Faithful Glass Iron Lonely Marble Midnight Paper Patient Scarlet Shattered Sleeping Stolen Stubborn Tender Velvet Winter Wooden "
    "Amber Ancient Brave Careless Cloudy Copper Curious Dancing Dusty Electric Emerald Foreign Graceful Haunted Humble Jealous Laughing Nameless Rusty Weary"
).split()
NOUNS = (
    "Harbor Garden River Mirror Lantern Orchard Bridge Voyage Letter Castle Shadow Island Meadow Promise Station Feather Compass Kingdom Window Engine "
    "Carnival Cathedral Clock Crown Desert Echo Falcon Forest Fountain Horizon Ladder Labyrinth Mountain Ocean Piano Prairie Sparrow Staircase Tower Waltz "
    "Anchor Balcony Ballad Cabinet Candle Chapel Circus Comet Dagger Diary Fortress Gallery Hammer Lighthouse Parade Quarry Ribbon Saddle Valley Wharf"
).split()
BANDS = "Owls Wolves Ravens Foxes Tigers Pilots Dreamers Strangers Rebels Gamblers Pioneers Wanderers".split()
CURRENCIES = (
    "dorin talam krova pelin sorel marat vinta lumar quero tesk obrin zelot harno fiskel".split()
)
LANGUAGES = "Aldic Borese Cantric Dovish Ervan Falric Gorish Hestian Irvic Jolese Kordic Lovian Mestic Narese".split()
RIVERS = "Ambra Belt Corrin Dorne Elsa Fosse Gelt Havel Isk Jarn Kolma Lethe Morn Neska".split()

PARTS = {
    "person": (WOMEN + MEN, LAST),
    "film": (ADJECTIVES, NOUNS),
    "novel": (ADJECTIVES, NOUNS),
    "album": (ADJECTIVES, NOUNS),
    "band": (ADJECTIVES, BANDS),
    "studio": (LAST, ["Pictures", "Films", "Cinema", "Features"]),
    "press": (LAST, ["Press", "Books", "Editions", "Publishers"]),
    "label": (LAST, ["Records", "Music", "Sound", "Audio"]),
    "university": (PLACE, ["University", "College", "Institute", "Academy"]),
    "city": (COMPASS, PLACE),
    "country": (PLACE, ["Republic", "Islands", "Federation", "Union"]),
}


def is_held_out(name: str) -> bool:
    """Whether a name belongs to the held-out worlds (one in three); no training world ever uses it."""
    return zlib.crc32(name.encode()) % 3 == 0


def draw_names(
    kind: str, count: int, taken: set[str], rng: random.Random, held_out: bool, variety: float = 1.0
) -> list[str]:
    """Draw `count` new names of a kind and add them to `taken`.

    `variety`: share of the name parts that is used at all, 0 to 1; the smaller, the more names look
    alike. Raises ValueError when there are not enough names.
    """
    first, last = (rng.sample(part, max(2, round(variety * len(part)))) for part in PARTS[kind])
    names = [f"{a} {b}" for a in sorted(first) for b in sorted(last)]
    names = [name for name in names if is_held_out(name) == held_out and name not in taken]
    if count > len(names):
        raise ValueError(
            f"{count} names of kind {kind!r} wanted, {len(names)} left: make the world smaller"
        )
    drawn = rng.sample(names, count)
    taken.update(drawn)
    return drawn
