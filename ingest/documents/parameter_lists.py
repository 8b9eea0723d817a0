"""Items of a list that explain a parameter and state its value: `seqlength (MPE): ..., here 4096`.

The value counts if the item states that it is used here; a default or an example does not.
"""

from __future__ import annotations

import re

from .context import setting_field, typed_facts
from .fact import Fact

_ITEM = re.compile(
    r"^\s*(?:\d{1,2}[.)、]|[-*+•])\s*(?P<front>[^A-Za-z`*]{0,12})[`*]{0,3}"
    r"(?P<name>[A-Za-z][\w-]{0,40})[`*]{0,3}"
    r"\s?(?P<rest>[（(,，:：—–-].*)$"
)
_ALIAS = re.compile(
    r"^[（(]\s?[`*]{0,2}(?P<name>\w{2,40})[`*]{0,2}\s?[)）]"
    r"|(?:简写为|缩写为|简称|abbreviated(?: as)?|aka)\s?[`*]{0,2}(?P<short>[A-Za-z]\w{1,20})"
)
_NUMBER = (
    r"(?P<{}>\d{{1,3}}(?:,\d{{3}})+|\d{{1,7}})"
    r"(?![\w%×/]|[.,]\d|\s?(?:,|or|and|to|或|和|、|-|–)\s?\d)"
)
_HERE = (
    r"(?:in|for|of|across|throughout)\s(?:this|these|our|all|the present)\s(?:\w+\s){0,2}?"
    r"(?:case|test|benchmark|run|setup|set-up|experiment|report|measurement|training"
    r"|configuration)s?"
)
_USED = re.compile(
    rf"(?:{_HERE}|\bhere|\bwe (?:use|set|chose|used|took)(?: it to)?|\b(?:is |was )?set to)"
    r"[,:：]?\s?"
    rf"(?:it (?:is|was)|is|was|=|to|defaults to)?\s?{_NUMBER.format('after')}"
    rf"|(?<![\w.,-])(?<!and )(?<!or )(?<!to )(?<!, ){_NUMBER.format('before')}"
    rf"\s?,?\s(?:{_HERE}|here|throughout)\b"
    r"|(?:在?(?:本|该|此|我们的?)\s?(?:case|例|次|测试|实验|文|报告|配置)?\s?中?|这里|此处)"
    r"[^，,。;；:：\d]{0,6}?(?:为|是|取|设(?:置)?为|=|：)\s?"
    rf"{_NUMBER.format('cjk')}",
    re.I,
)
_NOT_HERE = re.compile(
    r"\b(?:at least|at most|up to|e\.g|for example|such as|typically|usually|recommend\w*|or)\b"
    r"|至少|最多|例如|建议",
    re.I,
)


def explained(text: str, line: int) -> list[Fact]:
    """The fact of an item that names one setting, explains it and states its value here."""
    item = _ITEM.match(text)
    if item is None or _NOT_HERE.search(item["rest"]):
        return []
    aliases = [match["name"] or match["short"] for match in _ALIAS.finditer(item["rest"])]
    fields = {field for name in (item["name"], *aliases) if (field := setting_field(name))}
    values = {
        (match["after"] or match["before"] or match["cjk"]).replace(",", "")
        for match in _USED.finditer(item["rest"])
    }
    if len(fields) != 1 or len(values) != 1:
        return []
    return typed_facts(fields.pop(), values.pop(), text, line) or []
