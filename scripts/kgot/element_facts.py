"""The chemical elements with number, period and group: what the scripted model knows when it is asked as a tool."""

from __future__ import annotations

from typing import Any

__all__ = ["element_facts"]

_NAMES = """hydrogen helium lithium beryllium boron carbon nitrogen oxygen fluorine neon sodium magnesium aluminum silicon phosphorus sulfur
chlorine argon potassium calcium scandium titanium vanadium chromium manganese iron cobalt nickel copper zinc gallium germanium arsenic selenium
bromine krypton rubidium strontium yttrium zirconium niobium molybdenum technetium ruthenium rhodium palladium silver cadmium indium tin antimony
tellurium iodine xenon cesium barium lanthanum cerium praseodymium neodymium promethium samarium europium gadolinium terbium dysprosium holmium
erbium thulium ytterbium lutetium hafnium tantalum tungsten rhenium osmium iridium platinum gold mercury thallium lead bismuth polonium astatine
radon francium radium actinium thorium protactinium uranium neptunium plutonium americium curium berkelium californium einsteinium fermium
mendelevium nobelium lawrencium rutherfordium dubnium seaborgium bohrium hassium meitnerium darmstadtium roentgenium copernicium nihonium flerovium
moscovium livermorium tennessine oganesson""".split()
_LAST_OF_PERIOD = (2, 10, 18, 36, 54, 86, 118)  # the noble gases


def element_facts() -> list[dict[str, Any]]:
    """Return one row for each element; the group of the 28 elements of the f-block is 0."""
    return [_row(number, name) for number, name in enumerate(_NAMES, 1)]


def _row(number: int, name: str) -> dict[str, Any]:
    period = next(place for place, last in enumerate(_LAST_OF_PERIOD, 1) if number <= last)
    first = ([0, *_LAST_OF_PERIOD])[period - 1] + 1
    place, behind = number - first + 1, _LAST_OF_PERIOD[period - 1] - number
    group = place if place <= 2 else 18 - behind
    if period == 1:
        group = 1 if number == 1 else 18
    elif group < 3:
        group = place if place <= 2 else 0
    return {"name": name, "number": number, "period": period, "group": group}
