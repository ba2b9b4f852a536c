"""Made-up memories and questions that are shaped like real ones; the same for the same seed.

Word frequencies follow Zipf's law: what a word search costs depends on nothing else as much.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

_NAMES = ["Alice", "Bob", "Charlie", "Dana", "Emil", "Fatima", "Grace", "Hiro"]
_SMALL = ["the", "a", "to", "of", "and", "in", "for", "with", "on", "that", "is", "was", "it", "my"]
# Commonest first: the rank of a word decides how often it is drawn.
_WORD_LIST = """
    project meeting week team plan release design budget client review garden flight book school
    house doctor music dinner report email price server garage summer brother sister market
    holiday office camera bridge winter coffee ticket letter kitchen museum painting concert novel
    puppy marathon guitar pottery camping library bakery invoice contract database backup password
    printer monitor laptop keyboard deadline sprint customer supplier partner lawyer dentist nurse
    teacher student professor lecture exam thesis grant interview salary bonus pension mortgage
    rent deposit insurance passport visa luggage airport station platform taxi bicycle engine tyre
    repair plumber carpenter ladder paint wallpaper curtain carpet mattress pillow blanket lamp
    socket cable switch router signal antenna satellite rocket planet comet telescope microscope
    chemistry physics algebra geometry history grammar poem essay journal magazine newspaper
    article headline editor author publisher translator dictionary alphabet sentence paragraph
    chapter volume edition catalogue gallery sculpture marble bronze ceramic porcelain crystal
    diamond emerald silver copper iron steel concrete timber bamboo cotton linen velvet leather
    button zipper needle thread pattern fabric orchard vineyard meadow forest canyon glacier
    volcano island harbour lighthouse ferry canoe anchor sail compass lantern tent backpack
    hammock picnic barbecue pancake waffle omelette salad lasagne risotto curry noodle dumpling
    pretzel cinnamon vanilla ginger saffron basil rosemary pepper mustard vinegar honey butter
    cheese yoghurt almond walnut cashew apricot cherry papaya mango melon pumpkin spinach cabbage
    broccoli asparagus mushroom onion garlic potato tomato lettuce radish trumpet violin cello
    flute drum choir orchestra opera ballet theatre comedy tragedy chess puzzle domino lottery
    trophy medal referee stadium tennis cricket hockey rowing fencing archery karate yoga surfing
    diving climbing skating sledding puppet balloon kite marionette carousel fountain
"""
_WORDS = _WORD_LIST.split()
_WEIGHTS = list(accumulate(1 / (rank + 10) for rank in range(1, len(_WORDS) + 1)))

THREAD = 20  #: memories that share a source_context


def memories(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """`count` pairs of text (about 150 characters) and source_context."""
    draw = random.Random(seed)
    for number in range(count):
        words = [word for topic in _topics(draw, 12) for word in (draw.choice(_SMALL), topic)]
        rare = f"{draw.choice(_WORDS).upper()}-{draw.randrange(10_000)}"
        yield f"{draw.choice(_NAMES)}: {' '.join(words)} {rare}.", f"chat {seed}.{number // THREAD}"


def questions(count: int, seed: int = 2) -> Iterator[str]:
    """`count` questions of four telling words each; none is asked twice."""
    draw = random.Random(seed)
    for number in range(count):
        one, two, three = _topics(draw, 3)
        yield f"What did {draw.choice(_NAMES)} say about the {one} and the {two} {three} {number}?"


def _topics(draw: random.Random, count: int) -> list[str]:
    return draw.choices(_WORDS, cum_weights=_WEIGHTS, k=count)
