"""The closed lists of English that the check of a sentence knows: denials, opposites, numbers, units, joints. Pure."""

from askbook.retrieval.terms import stem

NEGATORS = frozenset("not no never none neither nor without nothing nobody nowhere non".split())
CONTRAST = NEGATORS | frozenset(
    "unlike instead rather fail lack absent unable impossible avoid prevent hardly rarely only "
    "except forbid prohibit refus unless disallow reject exclud ignor miss incorrect wrong invalid "
    "false ceas forbidden stop".split()
)
"""Words by which a source may deny something without a plain negator."""

_OPPOSITES = (
    "more less",
    "higher lower",
    "high low",
    "increase decrease",
    "increase reduce",
    "rise fall",
    "before after",
    "above below",
    "over under",
    "always never",
    "maximum minimum",
    "max min",
    "enable disable",
    "enabled disabled",
    "allow forbid",
    "allow prevent",
    "true false",
    "left right",
    "top bottom",
    "first last",
    "same different",
    "greater smaller",
    "larger smaller",
    "large small",
    "longer shorter",
    "long short",
    "faster slower",
    "fast slow",
    "start stop",
    "begin end",
    "open close",
    "input output",
    "inside outside",
    "internal external",
    "mutable immutable",
    "safe unsafe",
    "valid invalid",
    "possible impossible",
    "required optional",
    "mandatory optional",
    "early late",
    "earlier later",
    "positive negative",
    "all none",
    "add remove",
    "most least",
    "many few",
    "strong weak",
    "success failure",
    "succeed fail",
    "synchronous asynchronous",
    "static dynamic",
    "public private",
    "include exclude",
    "accept reject",
    "win lose",
    "up down",
    "north south",
    "east west",
    "northern southern",
    "eastern western",
)
OPPOSITES: dict[str, frozenset[str]] = {}
for _pair in _OPPOSITES:
    _one, _other = (stem(word) for word in _pair.split())
    OPPOSITES[_one] = OPPOSITES.get(_one, frozenset()) | {_other}
    OPPOSITES[_other] = OPPOSITES.get(_other, frozenset()) | {_one}

NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(),
        2,
    )
} | {
    "zero": "0",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "x100",
    "thousand": "x1000",
    "million": "x1000000",
    "millions": "x1000000",
    "billion": "x1000000000",
    "billions": "x1000000000",
    "trillion": "x1000000000000",
    "dozen": "12",
    "half": "1/2",
    "twice": "x2",
    "third": "#3",
    "fourth": "#4",
    "fifth": "#5",
    "sixth": "#6",
    "seventh": "#7",
    "eighth": "#8",
    "ninth": "#9",
    "tenth": "#10",
}

_UNITS = {
    "percent": "%,percent,percentage,pct",
    "degree": "°,degree,degrees,deg",
    "celsius": "°c,celsius",
    "fahrenheit": "°f,fahrenheit",
    "radian": "rad,radian,radians",
    "dollar": "$,dollar,dollars,usd",
    "cent": "cent,cents",
    "euro": "€,euro,euros,eur",
    "pound": "£,gbp",
    "lb": "lb,lbs,pound,pounds",
    "oz": "oz,ounce,ounces",
    "kg": "kg,kilogram,kilograms",
    "g": "g,gram,grams",
    "mg": "mg,milligram,milligrams",
    "tonne": "tonne,tonnes,ton,tons",
    "km": "km,kilometer,kilometers,kilometre,kilometres",
    "m": "m,meter,meters,metre,metres",
    "cm": "cm,centimeter,centimeters,centimetre,centimetres",
    "mm": "mm,millimeter,millimeters,millimetre,millimetres",
    "um": "um,µm,μm,micron,microns,micrometer,micrometers",
    "nm": "nm,nanometer,nanometers,nanometre,nanometres",
    "mile": "mile,miles,mi",
    "foot": "ft,foot,feet",
    "inch": "inch,inches",
    "yard": "yard,yards,yd",
    "acre": "acre,acres",
    "s": "s,sec,secs,second,seconds",
    "ms": "ms,millisecond,milliseconds",
    "us": "us,µs,μs,microsecond,microseconds",
    "ns": "ns,nanosecond,nanoseconds",
    "min": "min,mins,minute,minutes",
    "h": "h,hr,hrs,hour,hours",
    "day": "day,days",
    "week": "week,weeks",
    "month": "month,months",
    "year": "year,years,yr,yrs",
    "decade": "decade,decades",
    "century": "century,centuries",
    "hz": "hz,hertz",
    "khz": "khz,kilohertz",
    "mhz": "mhz,megahertz",
    "ghz": "ghz,gigahertz",
    "fps": "fps",
    "rpm": "rpm",
    "bit": "bit,bits",
    "byte": "byte,bytes",
    "kb": "kb,kib,kilobyte,kilobytes",
    "mb": "mb,mib,megabyte,megabytes",
    "gb": "gb,gib,gigabyte,gigabytes",
    "tb": "tb,tib,terabyte,terabytes",
    "volt": "v,volt,volts",
    "mv": "mv,millivolt,millivolts",
    "watt": "w,watt,watts",
    "kw": "kw,kilowatt,kilowatts",
    "mw": "mw,megawatt,megawatts",
    "amp": "amp,amps,ampere,amperes",
    "ma": "ma,milliamp,milliamps,mah",
    "ohm": "ohm,ohms,ω",
    "newton": "newton,newtons",
    "joule": "joule,joules",
    "pascal": "pa,pascal,pascals",
    "kelvin": "kelvin",
    "liter": "liter,liters,litre,litres",
    "ml": "ml,milliliter,milliliters,millilitre,millilitres",
    "token": "token,tokens",
    "pixel": "px,pixel,pixels",
}
UNITS: dict[str, str] = {
    alias: name for name, aliases in _UNITS.items() for alias in aliases.split(",")
}

DISCOURSE = frozenset(
    """yes actually according additionally also although besides consequently either finally firstly furthermore
    generally hence however including indeed likewise moreover namely nevertheless otherwise overall
    respectively secondly similarly specifically therefore though thus various whereas yet""".split()
)
"""Words that join sentences or lead in to one, and state nothing themselves."""
