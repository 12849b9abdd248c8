"""Dates with the names of months in the languages that exports are written in most, for dateutil."""

from __future__ import annotations

from typing import ClassVar

from dateutil.parser import parserinfo

_NAMES = """
januar jänner janvier enero ene gennaio gen janeiro januari stycznia января
februar février févr fév febrero febbraio fevereiro fev februari lutego февраля
märz mrz mär mars marzo março maart mrt marca марта
april avril avr abril abr aprile kwietnia апреля
mai mayo maggio mag maio mei maj maja мая
juni juin junio giugno giu junho czerwca июня
juli juillet juil julio luglio lug julho lipca июля
august août aout agosto ago augustus augusti sierpnia августа
september septembre septiembre settembre set setembro września сентября
oktober okt octobre octubre ottobre ott outubro out października октября
november novembre noviembre novembro listopada ноября
dezember dez décembre déc diciembre dic dicembre dezembro december desember grudnia декабря
""".strip().split("\n")


class _MonthsOfLanguages(parserinfo):
    """English months, and those of `_NAMES`; small words between day, month, year and time are passed over."""

    MONTHS: ClassVar = [(*english, *names.split()) for english, names in zip(parserinfo.MONTHS, _NAMES, strict=True)]
    JUMP: ClassVar = [*parserinfo.JUMP, "de", "del", "di", "le", "el", "il", "den", "um", "à", "às", "alle", "kl", "г"]


IN_MANY_LANGUAGES = _MonthsOfLanguages()
