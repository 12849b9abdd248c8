"""Numbers by which states know their people, checked by the rules of each country (python-stdnum)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from turnlens.data.personal.plain_text import LETTER, Span

# The notations that are telling by themselves, and the countries' numbers that are written so.
_NOTATIONS = {
    r"[A-Za-z]{6}\d{2}[A-Za-z]\d{2}[A-Za-z]\d{3}[A-Za-z]": "it.codicefiscale",
    r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z\d]\d": "mx.curp",
    r"[A-Z]{5}\d{4}[A-Z]": "in_.pan",
    r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]": "",  # British
    r"[XYZxyz]-?\d{7}-?[A-Za-z]": "es.nie",
    r"\d{8}[- ]?[A-Za-z]": "es.dni",
    r"\d{7}[A-W][A-IW]?": "ie.pps",
    r"\d{8} ?\d ?[A-Z]{2}\d": "pt.cc",
    r"\d{6}[-+ABCDEFUVWXY]\d{3}[\dA-Z]": "fi.hetu se.personnummer dk.cpr is_.kennitala",
    r"\d{8}[-+]\d{4}": "se.personnummer",
    r"\d{6}-\d{5}": "lv.pvn",
    r"\d{6}-\d{7}": "kr.rrn",
    r"\d{6}-\d{2}-\d{4}": "my.nric",
    r"\d{6}/\d{3,4}": "cz.rc sk.rc",
    r"\d{17}[\dXx]": "cn.ric",
    r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}": "fr.nir",
    r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}": "be.nn",
    r"756\.\d{4}\.\d{4}\.\d{2}": "ch.ssn",
    r"\d{3}\.\d{3}\.\d{3}-\d{2}": "br.cpf",
    r"\d{1,2}\.\d{3}\.\d{3}-[\dKk]": "cl.rut",
    r"\d{2}-\d{8}-\d": "ar.cuit",
    r"\d{3}-\d{7}-\d": "do.cedula",
    r"\d{5}-\d{7}-\d": "pk.cnic",
    r"\d-\d{4}-\d{5}-\d{2}-\d": "th.pin",
    r"\d{3}-\d{2}-\d{4}": "us.ssn us.itin",
    r"\d{4} \d{4} \d{4}": "in_.aadhaar",
}
# Numbers of digits alone: only after a word that says so, since one in ten or a hundred of any others is valid, too.
_DIGITS = (
    "us.ssn us.itin ca.sin au.tfn nz.ird nl.bsn il.idnr pt.nif gb.nhs gb.utr bg.egn at.vnr ec.ci ua.rntrc dk.cpr cz.rc "
    "se.personnummer is_.kennitala pl.pesel de.idnr br.cpf tr.tckimlik hr.oib ee.ik lt.asmens gr.amka no.fodselsnummer "
    "in_.aadhaar in_.vid ru.inn my.nric ro.cnp za.idnr th.pin kr.rrn pk.cnic si.emso ch.ssn be.nn fr.nif fr.nir id.nik "
    "cl.rut ar.dni ar.cuit do.cedula pe.cui co.nit cu.ni eg.tn"
)
_NUMBER = re.compile(
    rf"(?<!{LETTER})(?<![.,/+-])(?=[A-Za-z]{{0,6}}\d)(?:"
    + "|".join(f"(?P<n{place}>{notation})(?!{LETTER}|[./-]\\d)" for place, notation in enumerate(_NOTATIONS))
    + rf"|(?P<digits>\d(?:[ ./-]?\d){{7,17}}(?:-?[KkXx])?)(?!{LETTER}|[./-]\d))"
)
_WORDS = re.compile(
    # in capitals where it is another word in small letters, such as the Spanish "sin" and the German "nie"
    r"(?<![^\W_])(?:(?-i:SIN|TIN|NIE|RUN|VID)|ssn|nino|nhs|itin|tfn|ird|utr|ppsn?|social\s(?:security|insurance)"
    r"|national\s(?:id|insurance|identity)|tax(?:payer)?(?: file)?\s(?:id|number|no|nr|reference)|identity|nid"
    r"|(?:personal|identification|citizen|resident|id)\s(?:id|number|no|nr|code|card|num)|aadhaar|aadhar|nik|ktp|cnic"
    r"|nric|mykad|cpf|pesel|bsn|rijksregister\w*|burgerservicenummer|steuer-?(?:id\w*|nummer|nr)|idnr|hetu|svnr|ahv\w*"
    r"|identifikationsnummer|sozialversicherung\w*|sv-?nummer|personnummer\w*|personnr|cpr\w*|fødselsnummer|kennitala"
    r"|henkilötunnus\w*|dni|nif|contribuinte|cédula|cedula|rut|cuil|cuit|codice fiscale|sécurité sociale|nir|n° fiscal"
    r"|numéro (?:fiscal|national)|egn|oib|emšo|emso|cnp|isikukood|asmens kodas\w*|rodné číslo|rodne cislo|kimlik\w*)"
    r"(?![^\W_])|егн|инн|рнокпп|αμκα|身份证|身分證|주민등록|आधार|เลขบัตรประชาชน|הזהות|זהות|الرقم القومي|الهوية",
    re.IGNORECASE,
)
_WORDS_BEFORE = 40


def national_ids(text: str) -> Iterator[Span]:
    """Yield numbers of identity, taxes and social security: by notation and check digits, or digits after a word."""
    if not any(map(text.__contains__, "0123456789")):
        return
    countries = [*_NOTATIONS.values()]
    for match in _NUMBER.finditer(text):
        kind = str(match.lastgroup)
        is_told = kind != "digits" and is_valid(match[0], countries[int(kind[1:])])
        if is_told or (_is_announced(text, match.start()) and is_valid(match[0], _DIGITS)):
            yield match.span()


def _is_announced(text: str, start: int) -> bool:
    before = re.split(r"\d|[.!?]\s|\n\n", text[max(0, start - _WORDS_BEFORE) : start])[-1]
    return _WORDS.search(before) is not None


def is_valid(number: str, names: str) -> bool:
    """Return true if a number is valid by one of these modules of stdnum; an empty name asks for no check digits."""
    return not names or any(_module(name).is_valid(number) for name in names.split())


@cache
def _module(name: str) -> Any:
    return import_module(f"stdnum.{name}")
