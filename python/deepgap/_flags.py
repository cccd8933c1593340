"""Keyword arguments as flags of the program. The flags are read from its --help, so a new flag needs no change here."""
from __future__ import annotations

import dataclasses
import datetime
import difflib
import os
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from deepgap import _call
from deepgap._errors import UsageError


@dataclasses.dataclass(frozen=True)
class Flag:
    name: str  # "--batch"
    value: str  # "LIST" as --help shows it; empty: a switch

    @property
    def pairs(self) -> str:
        """Returns the sign between the two parts of a flag such as --axis NAME=LIST, or an empty text."""
        if self.value == "LIST" and self.name == "--tenant":
            return ""
        return next((sign for sign in "=:" if sign in self.value), "")


# "  -b, --batch, --batch-size LIST    ..." and "      --quick    ...": names, and what the flag takes.
HELP_LINE = re.compile(r" {2,6}((?:-\w, )?--[a-z][a-z0-9-]*(?:, --[a-z][a-z0-9-]*)*)(?: (\S+))?(?: {2,}.*)?")


def flags_in(text: str) -> dict[str, Flag]:
    """Returns the flags that a command's help lists, by their keyword: `batch_size` for --batch-size."""
    found = {}
    for names, value in (match.groups() for match in map(HELP_LINE.fullmatch, text.splitlines()) if match):
        for name in names.split(", "):
            if name.startswith("--"):
                found[name[2:].replace("-", "_")] = Flag(name, value or "")
    return found


def flags_of(command: str) -> dict[str, Flag]:
    return flags_in(_call.help_of(command))


def text_of(value: Any) -> str:
    """Returns one value as the program spells it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, datetime.timedelta):
        return f"{value // datetime.timedelta(milliseconds=1)}ms"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:  # a number of NumPy
        return text_of(value.item())
    return repr(value) if isinstance(value, float) else str(value)


def is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike, Mapping)) and getattr(value, "ndim", 1) != 0


def _pair(flag: Flag, name: str, value: Any) -> str:
    sizes = "DIMS" in flag.value
    values = list(value) if is_list(value) else [value]
    return f"{name}{flag.pairs}" + ("x" if sizes else ",").join("N" if sizes and one is None else text_of(one) for one in values)


def _tenant(value: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={text_of(one)}" for name, one in value.items())


def _texts(keyword: str, flag: Flag, value: Any) -> list[str]:
    """Returns the texts behind a flag, which is repeated for each."""
    if flag.pairs and isinstance(value, Mapping):
        return [_pair(flag, name, one) for name, one in value.items()]
    if flag.name == "--tenant":
        tenants = [value] if isinstance(value, (str, Mapping)) else list(value)
        return [_tenant(tenant) if isinstance(tenant, Mapping) else text_of(tenant) for tenant in tenants]
    if isinstance(value, Mapping):
        raise UsageError(f"invalid value for {keyword}: expected a value or a list, got a dict")
    values = list(value) if is_list(value) else [value]
    if flag.pairs:  # "input:Nx3x32x32", or several of them
        return [text_of(one) for one in values]
    if not values:
        raise UsageError(f"invalid value for {keyword}: expected at least one value, got an empty list")
    return [",".join(text_of(one) for one in values)]


def unexpected(function: str, keyword: str, known: Collection[str]) -> TypeError:
    near = difflib.get_close_matches(keyword, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else f"; `deepgap {function} --help` lists the flags"
    return TypeError(f"{function}() got an unexpected keyword argument '{keyword}'{hint}")


def arguments(command: str, keywords: Mapping[str, Any], reserved: Mapping[str, str] | None = None) -> list[str]:
    """Returns the command line of keyword arguments. `reserved`: keywords that the caller does not take, and what to do instead."""
    flags = flags_of(command)
    line: list[str] = []
    for keyword, value in keywords.items():
        if reserved and keyword in reserved:
            raise TypeError(f"{command}() does not take '{keyword}': {reserved[keyword]}")
        flag = flags.get(keyword)
        if flag is None or keyword in ("help", "h"):
            known = [name for name in flags if name != "help" and name not in (reserved or {})]
            raise unexpected(command, keyword, known)
        if value is None:
            continue
        if not flag.value:
            if not isinstance(value, bool):
                raise UsageError(f"invalid value {value!r} for {keyword}: expected True or False")
            line += [flag.name] if value else []
            continue
        for text in _texts(keyword, flag, value):
            line += [f"{flag.name}={text}"]
    return line
