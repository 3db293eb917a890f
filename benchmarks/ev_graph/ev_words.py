"""Words that names of the graph are made of. All are invented; none is a company's or a plant's."""

from __future__ import annotations

__all__ = ["FAMILIES", "MODELS", "MONTHS", "MOTORS", "OPERATIONS", "REGIONS", "SCRAPS", "SEGMENTS", "SITES", "UNITS"]

REGIONS = (
    "Northern Europe",
    "Western Europe",
    "Southern Europe",
    "Eastern Europe",
    "North America",
    "South America",
    "East Asia",
    "South Asia",
    "Oceania",
)
UNITS = (
    "Battery Systems",
    "Drive Systems",
    "Body and Paint",
    "Final Assembly",
    "Power Electronics",
    "Thermal Systems",
    "Interior",
    "Chassis",
    "Charging",
    "Aftermarket",
    "Recycling",
    "Prototyping",
    "Tooling",
    "Quality Assurance",
)
_SITE_GREEK = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta", "Iota", "Kappa", "Lambda", "Sigma")
_SITE_PARTS = ("Northern Division", "Southern Division", "East Works", "West Works")
SITES = tuple(f"Factory {letter} - {part}" for part in _SITE_PARTS for letter in _SITE_GREEK)
"""48 names, each once."""

_FAMILY_OBJECTS = ("Busbar", "Housing", "Rotor", "Stator", "Harness", "Cell stack", "Cooling plate", "Door", "Axle")
_FAMILY_WORK = ("laser welding", "adhesive bonding", "precision fitting", "end-of-line testing")
FAMILIES = tuple(f"{thing} {work}" for work in _FAMILY_WORK for thing in _FAMILY_OBJECTS)
"""36 labels of process families."""

OPERATIONS = ("Weld", "Glue", "Fit", "Test", "Press", "Wind", "Bolt", "Seal", "Coat", "Align", "Fill", "Inspect")
MOTORS = ("Motor", "Inverter", "Gearbox", "Axle drive", "Rotor set", "Stator set")
SCRAPS = ("Offcut", "Bracket set", "Rework kit", "Pallet", "Trim", "Spacer", "Cover", "Sleeve")
SEGMENTS = ("compact", "sedan", "van", "truck", "bus")
MODELS = ("EV-X7", "PX-206", "BR-20Q7", "BE-4417", "BX-09T3")
"""Models with fixed names, which questions name. The last three are the only ones that start with B."""
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
