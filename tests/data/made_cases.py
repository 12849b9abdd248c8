"""166 more cases of personal data: secrets, handles and national ids of many countries, and texts that hold none.

All values are invented by a seeded generator, and check digits are computed with python-stdnum.
"""

import random
import string
from functools import cache
from importlib import import_module

# In a template: 0 a digit, A a capital letter; other signs stand for themselves. The second text says what it is.
IDS = {
    "Argentina": ("ar.cuit", "20-00000000-0", "Mi CUIL es {}"),
    "Australia": ("au.tfn", "000 000 000", "my tax file number is {}"),
    "Austria": ("at.vnr", "0000 150380", "meine Sozialversicherungsnummer: {}"),
    "Belgium": ("be.nn", "85.07.30-000.00", "rijksregisternummer {}"),
    "Brazil": ("br.cpf", "000.000.000-00", "meu CPF é {}"),
    "Britain": ("", "AB000000C", "National insurance number {}"),
    "Bulgaria": ("bg.egn", "8507300000", "ЕГН {}"),
    "Canada": ("ca.sin", "000-000-000", "SIN: {}"),
    "Chile": ("cl.rut", "12.000.000-0", "mi RUT es {}"),
    "China": ("cn.ric", "110101198507300000", "身份证号{}"),
    "Croatia": ("hr.oib", "00000000000", "moj OIB je {}"),
    "Czechia": ("cz.rc", "850730/0000", "rodné číslo {}"),
    "Denmark": ("dk.cpr", "300785-0000", "mit CPR-nummer er {}"),
    "Estonia": ("ee.ik", "38507300000", "isikukood {}"),
    "Finland": ("fi.hetu", "300785-000A", "henkilötunnus {}"),
    "France": ("fr.nir", "1 85 07 75 000 000 00", "numéro de sécurité sociale : {}"),
    "Germany": ("de.idnr", "00 000 000 000", "Steuer-ID {}"),
    "Greece": ("gr.amka", "30078500000", "ΑΜΚΑ {}"),
    "India": ("in_.aadhaar", "0000 0000 0000", "Aadhaar {}"),
    "Indonesia": ("id.nik", "3171013007850000", "NIK {}"),
    "Ireland": ("ie.pps", "0000000A", "PPS number {}"),
    "Israel": ("il.idnr", "000000000", "תעודת זהות {}"),
    "Italy": ("it.codicefiscale", "RSSMRA85L30H501A", "codice fiscale {}"),
    "Korea": ("kr.rrn", "850730-1000000", "주민등록번호 {}"),
    "Lithuania": ("lt.asmens", "38507300000", "asmens kodas {}"),
    "Malaysia": ("my.nric", "850730-14-0000", "my NRIC is {}"),
    "Mexico": ("mx.curp", "BOXW850730HNERXNA0", "CURP {}"),
    "Netherlands": ("nl.bsn", "000000000", "mijn BSN is {}"),
    "New Zealand": ("nz.ird", "00000000", "IRD number {}"),
    "Norway": ("no.fodselsnummer", "300785 00000", "fødselsnummer {}"),
    "Pakistan": ("pk.cnic", "35202-0000000-1", "CNIC {}"),
    "Poland": ("pl.pesel", "85073000000", "PESEL {}"),
    "Portugal": ("pt.nif", "200000000", "NIF {}"),
    "Romania": ("ro.cnp", "1850730000000", "CNP {}"),
    "Russia": ("ru.inn", "500100000000", "ИНН {}"),
    "South Africa": ("za.idnr", "8507300000080", "ID number {}"),
    "Spain": ("es.dni", "00000000A", "mi DNI es {}"),
    "Sweden": ("se.personnummer", "850730-0000", "personnummer {}"),
    "Switzerland": ("ch.ssn", "756.0000.0000.00", "AHV-Nummer {}"),
    "Thailand": ("th.pin", "1-0000-00000-00-0", "เลขบัตรประชาชน {}"),
    "Turkey": ("tr.tckimlik", "10000000000", "TC kimlik no {}"),
    "United States": ("us.ssn", "000-00-0000", "my social security number is {}"),
}
# In a template: * a letter or digit, # a hexadecimal digit.
TOKENS = {
    "OpenAI": ["sk-" + "*" * 48, "sk-proj-" + "*" * 60, "sk-svcacct-" + "*" * 40],
    "Anthropic": ["sk-ant-api03-" + "*" * 60],
    "GitHub": ["ghp_" + "*" * 36, "gho_" + "*" * 36, "github_pat_" + "*" * 22 + "_" + "*" * 59],
    "GitLab": ["glpat-" + "*" * 20],
    "Amazon": ["AKIAIOSFODNN7EXAMPLE"],
    "Google": ["AIza" + "*" * 35],
    "Slack": ["xoxb-" + "0" * 12 + "-" + "0" * 12 + "-" + "*" * 24],
    "Stripe": ["sk_live_" + "*" * 24, "rk_live_" + "*" * 24],
    "SendGrid": ["SG." + "*" * 22 + "." + "*" * 43],
    "Twilio": ["SK" + "#" * 32],
    "npm": ["npm_" + "*" * 36],
    "Hugging Face": ["hf_" + "*" * 34],
    "Telegram": ["000000000:" + "*" * 35],
    "JSON web token": ["eyJhbGciOiJIUzI1NiJ9.eyJ" + "*" * 24 + "." + "*" * 43],
    "Azure": ["AccountKey=" + "*" * 86 + "=="],
}
PASSWORDS = [
    "my password is «secrets:Hunter2!x»", "Passwort: «secrets:Sommer2024»", "das Passwort lautet «secrets:gEheim#7»",
    "mot de passe : «secrets:soleil»", "mi contraseña es «secrets:perro123»", "a senha é «secrets:gato#2020»",
    "la password è «secrets:Roma1982»", "wachtwoord = «secrets:fiets!99»", "moje hasło to «secrets:kot4512»",
    "пароль: «secrets:Moskva77»", "密码是«secrets:abc12345»，谢谢", "パスワードは«secrets:neko2024»です",
    "비밀번호는 «secrets:seoul88!»", "كلمة السر هي «secrets:Nile2023»", "mitt lösenord är «secrets:sommar19»",
    "şifre: «secrets:ankara06»", "the wifi password for guests is «secrets:Blue42Sky»", "my PIN is «secrets:4821»",
    'config: {"password": "«secrets:swordfish»"}', "api_key=«secrets:9f8a7c6d5e4b»",
    "Authorization: Bearer «secrets:abc123DEF456ghi789»",
    "my password is «secrets:swordfish»",
    "«secrets:-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----»\nthat was it",
]  # fmt: skip
HANDLES = [
    "follow me, «handles:@ann_lee»", "(«handles:@jo.doe») wrote it", "DM «handles:@MaxMuster99»!",
    "«handles:@taro»さん",
    "<«handles:@U024BE7LH»> knows", "thanks «handles:@kim», bye", "«handles:@someone» at a@b",
]  # fmt: skip
NOTHING = {
    "sentences": [
        "I forgot my password and cannot log in.", "The password is wrong.", "Your password is not valid any more.",
        "Passwort: bitte zurücksetzen", "My password is expired since Monday.", "A password must have 12 characters.",
        "My identity card was stolen in Rome.", "sk-learn is a library for Python", "Please send the token again.",
    ],
    "order numbers": [
        "order 85073000005", "Bestellung 12345678", "order number 123456782 is late", "Lieferung 756123456789",
        "invoice 2024-00017", "tracking 1850730123454", "ticket AB-123456-C", "PO 20-12345678",
    ],
    "prices": ["it costs 1.234.567,89", "CHF 12'345.00", "USD 123,456.78 or less", "4 500 000 000 Rp"],
    "dates": ["30.07.1985 at 10:30", "850730 and 20240531", "2024-05-31T10:30:00Z", "from 1985-07-30 to 2001-02-03"],
    "hashes": [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "md5 d41d8cd98f00b204e9800998ecf8427e",
        "build 20240531.4 of a1b2c3d4", "trace 550e8400-e29b-41d4-a716-446655440000",
    ],
    "programs": ["import {a} from '@types/node'", "@Override public void run()", "max_tokens: 4096, tokens = 512"],
}  # fmt: skip


def _filled(template: str, chance: random.Random) -> str:
    signs = {"*": string.ascii_letters + string.digits, "#": "0123456789abcdef"}
    return "".join(chance.choice(signs[sign]) if sign in signs else sign for sign in template)


@cache
def number_of(country: str) -> str:
    """A valid number of a country."""
    name, template, _ = IDS[country]
    is_valid = import_module(f"stdnum.{name}").is_valid if name else bool
    chance = random.Random(country)
    fixed = {"BOXW850730HNERXNA0", "RSSMRA85L30H501A"}
    for _ in range(1_000_000):
        last = {len(template) - 1, len(template) - 2} if template in fixed else range(len(template))
        number = "".join(
            chance.choice(string.digits) if sign == "0" and place in last and not _is_date(template, place)
            else chance.choice(string.ascii_uppercase) if sign == "A" and place in last else sign
            for place, sign in enumerate(template)
        )  # fmt: skip
        if is_valid(number):
            return number
    raise AssertionError(f"no valid number for {country}")


def _is_date(template: str, place: int) -> bool:
    """The zeros of a day, a year or a region, which a generator leaves as they are."""
    fixed = ("850730", "300785", "150380", "85.07.30", "1 85 07 75", "19850730", "110101", "5001", "317101", "756")
    return any(at <= place < at + len(day) for day in fixed if (at := template.find(day)) >= 0)


def made_cases() -> dict[str, list[str]]:
    """Marked texts by what they hold."""
    chance = random.Random(7)
    announced = {country: text.format(f"«national_ids:{number_of(country)}»") for country, (*_, text) in IDS.items()}
    alone = [f"it is «national_ids:{number_of(country)}», thanks" for country in IDS]
    tokens = [
        f"use «secrets:{_filled(template, chance)}» for it".replace("«secrets:AccountKey=", "AccountKey=«secrets:")
        for templates in TOKENS.values()
        for template in templates
    ]
    return {
        "national ids after a word": list(announced.values()),
        "national ids alone": alone,
        "keys and tokens": tokens,
        "passwords and private keys": PASSWORDS,
        "handles": HANDLES,
        **{f"nothing: {kind}": texts for kind, texts in NOTHING.items()},
    }
