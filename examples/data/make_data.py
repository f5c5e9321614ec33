"""Write the tables of the examples: tickets.csv and flats.csv.

Both are generated: no row describes a real person, company or flat. The files are part of the
repository, so that the examples need no network; run this script only to change them.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
FILLERS = {
    "station": [
        *("Market Square", "Central Station", "Riverside", "the university", "Mill Lane"),
        *("the harbour", "North Gate", "the town hall", "Park Avenue", "the museum"),
    ],
    "time": [
        "this morning",
        "yesterday evening",
        "at 7:40",
        "around noon",
        "last night",
        "at 18:15",
    ],
    "amount": ["2.50", "4.80", "7.20", "12.00", "19.90", "36.00"],
    "phone": ["my Android phone", "my iPhone", "an older phone", "my new phone", "my tablet"],
    "days": ["three days", "a week", "ten days", "two weeks", "nearly a month"],
    "thing": ["my umbrella", "a blue rucksack", "my gloves", "a pair of glasses", "a shopping bag"],
}
# The topic, its number of tickets, first sentences and second sentences.
TOPICS: list[tuple[str, int, list[str], list[str]]] = [
    (
        "bike does not unlock",
        92,
        [
            "The bike at {station} did not unlock.",
            "I scanned the code {time} but the lock stayed closed.",
            "Tried three bikes at {station} and none of the locks opened.",
            "The app said 'unlocked' {time}, yet the lock did not move.",
        ],
        [
            "The light on the lock turned red each time.",
            "Scanning the code again did not help, nor did typing the bike number.",
            "After a minute the app gave up with a lock error.",
            "In the end I walked. Please check the lock of this bike.",
        ],
    ),
    (
        "charged wrongly",
        78,
        [
            "I was charged {amount} euros twice for one ride.",
            "My card shows a charge of {amount} euros for a ride I did not take.",
            "The receipt says {amount} euros, although the ride took nine minutes.",
            "Why was I charged {amount} euros {time}?",
        ],
        [
            "Please correct the charge on my card.",
            "The price list says something else. Please check the receipt.",
            "My bank shows both charges on the same day.",
            "I only took one ride that day, so the second charge is wrong.",
        ],
    ),
    (
        "ride did not end",
        64,
        [
            "I returned the bike at {station} but the ride is still running.",
            "The ride did not end when I locked the bike {time}.",
            "The app still counts minutes although the bike stands locked at {station}.",
            "I cannot end my ride, the button is grey.",
        ],
        [
            "The timer keeps counting. Please end the ride on your side.",
            "I locked the bike properly and heard the click.",
            "By now the ride has lasted more than two hours.",
            "Please stop the timer and end the ride at the minute I locked it.",
        ],
    ),
    (
        "damaged bike",
        58,
        [
            "The bike I took at {station} has a flat rear tyre.",
            "The front brake of the bike from {station} hardly works.",
            "The saddle of this bike slides down while riding.",
            "The chain came off {time} and the pedal is loose.",
        ],
        [
            "Somebody should repair it before the next rider takes it.",
            "I put it back with the saddle turned round as a sign that it is damaged.",
            "It felt unsafe, so I stopped riding after a few minutes.",
            "The bell is broken too. Please send the repair team.",
        ],
    ),
    (
        "app and login",
        46,
        [
            "The app crashes on {phone} right after the start screen.",
            "Since the update I cannot log in on {phone}.",
            "The login code never arrives by text message.",
            "The map in the app stays empty on {phone}.",
        ],
        [
            "I have installed the app again without success.",
            "Restarting the phone did not help.",
            "The app worked before the last update.",
            "I tried mobile data and wifi, and the login page only shows a spinning wheel.",
        ],
    ),
    (
        "no bikes",
        38,
        [
            "There are never any bikes left at {station} on weekdays.",
            "The map showed four bikes at {station}, but the station was empty.",
            "No bikes at {station} {time}, for the third time in a row.",
        ],
        [
            "Could you bring more bikes there before eight?",
            "Many commuters need bikes there in the morning.",
            "An empty station is of no use to commuters. Please move some bikes there.",
        ],
    ),
    (
        "station full",
        30,
        [
            "The station at {station} was full, so I could not return the bike.",
            "All docks at {station} were taken {time}.",
            "I had to ride on because every dock at {station} was occupied.",
        ],
        [
            "I paid for twenty more minutes to find a free dock.",
            "Please add docks, or take bikes away in the evening.",
            "The next free dock was two kilometres away.",
        ],
    ),
    (
        "refund is late",
        26,
        [
            "I was promised a refund {days} ago and it has not arrived.",
            "Where is my refund of {amount} euros?",
            "My refund request has been 'in progress' for {days}.",
        ],
        [
            "Please tell me when the refund will be paid.",
            "Nobody answered my last two messages about the refund.",
            "The bank says that no refund was sent.",
        ],
    ),
    (
        "empty battery",
        20,
        [
            "The e-bike from {station} had an empty battery after five minutes.",
            "The battery display showed 80 per cent, then the motor switched off.",
            "The motor of the e-bike did not help at all, battery at zero.",
        ],
        [
            "Pedalling uphill without the motor is hard work.",
            "Please swap the battery.",
            "The battery should be charged before the e-bike goes out.",
        ],
    ),
    (
        "cancel subscription",
        16,
        [
            "I want to cancel my yearly subscription.",
            "How do I cancel the monthly plan? I am moving away.",
            "My subscription was renewed although I had cancelled it.",
        ],
        [
            "I cannot find the cancel button in the settings.",
            "Please confirm by e-mail that the subscription has ended.",
            "The renewal should not have happened. Please cancel it.",
        ],
    ),
    (
        "voucher",
        8,
        [
            "The voucher code from the leaflet is not accepted.",
            "My voucher for ten free rides has disappeared.",
        ],
        [
            "The app says that the voucher has expired, but the leaflet says December.",
            "I entered the voucher code exactly as printed.",
        ],
    ),
    (
        "lost property",
        4,
        ["I left {thing} in the basket of a bike at {station}."],
        [
            "Has somebody found it, and where is the lost property office?",
            "Is there a place where lost things are kept?",
        ],
    ),
]
CLOSINGS = [
    "Thank you.",
    "Please help.",
    "Kind regards.",
    "I look forward to your answer.",
    "",
    "",
    "",
]


def tickets(random: np.random.Generator) -> list[dict[str, str]]:
    """Return tickets in random order, no two of them alike."""

    def filled(sentence: str) -> str:
        for name, values in FILLERS.items():
            sentence = sentence.replace("{" + name + "}", str(random.choice(values)))
        return sentence

    rows: list[dict[str, str]] = []
    seen: set[str] = set()
    for topic, n, firsts, seconds in TOPICS:
        found = 0
        while found < n:
            parts = [random.choice(firsts), random.choice(seconds), random.choice(CLOSINGS)]
            text = filled(" ".join(part for part in parts if part))
            if text not in seen:
                seen.add(text)
                rows.append({"topic": topic, "text": text})
                found += 1
    return [rows[i] for i in random.permutation(len(rows))]


def flats(random: np.random.Generator, n: int = 900) -> list[dict[str, object]]:
    """Return flats to let: four kinds of buildings, with gaps as in forms that people fill in."""
    # kind: share, area (mean, sd), year built, rent per square metre, districts, heating
    kinds = {
        "old town": (
            0.30,
            (62, 18),
            (1905, 12),
            14.5,
            ["centre", "riverside"],
            ["gas", "district"],
        ),
        "estate": (0.38, (58, 12), (1972, 6), 9.5, ["north", "east"], ["district", "gas"]),
        "new build": (0.24, (74, 20), (2016, 4), 16.0, ["harbour", "riverside"], ["heat pump"]),
        "village": (0.08, (105, 25), (1958, 25), 8.0, ["outskirts"], ["oil", "wood"]),
    }
    rows: list[dict[str, object]] = []
    for name in random.choice(list(kinds), n, p=[each[0] for each in kinds.values()]):
        _, area_of, year_of, price, districts, heatings = kinds[name]
        area = float(np.clip(random.normal(*area_of), 22, 190))
        rent = area * price * random.lognormal(0, 0.12)
        rows.append(
            {
                "rent": round(rent / 5) * 5,
                "area": round(area),
                "rooms": int(np.clip(round(area / 27 + random.normal(0, 0.4)), 1, 7)),
                "built": int(np.clip(random.normal(*year_of), 1860, 2025)),
                "district": random.choice(districts),
                "heating": random.choice(heatings),
                "lift": "yes" if random.random() < (0.8 if name == "new build" else 0.25) else "no",
                "pets": random.choice(["allowed", "on request", "no"], p=[0.25, 0.45, 0.3]),
            }
        )
    gaps = {"built": 0.12, "heating": 0.08, "pets": 0.15, "area": 0.03}
    for column, share in gaps.items():
        for i in np.flatnonzero(random.random(n) < share):
            rows[i][column] = ""
    return rows


def main() -> None:
    random = np.random.default_rng(18)
    for name, rows in (("tickets", tickets(random)), ("flats", flats(random))):
        with (HERE / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
