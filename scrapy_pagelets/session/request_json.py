"""Requests as JSON, for the job directory and for other processes: data, which runs no code when it is read."""

from __future__ import annotations

import json
import sys
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

_PLAIN = (str, int, float, bool, type(None))


def to_json(request: Request, spider: Spider | None) -> bytes:
    """Serialise a request, whose values must be strings, bytes, numbers, None, and lists, tuples and dicts of them.

    Raises
    ------
    TypeError : if another value is in it
    ValueError : if a callback is no method of the spider

    Examples
    --------
    >>> request = Request("http://a/", method="POST", body=b"x", meta={"key": (1, b"2")}, cb_kwargs={"n": {3: None}})
    >>> again = from_json(to_json(request, None), None)
    >>> again.body, again.meta, again.cb_kwargs
    (b'x', {'key': (1, b'2')}, {'n': {3: None}})
    """
    return json.dumps(_to_plain(request.to_dict(spider=spider))).encode()


def from_json(content: bytes, spider: Spider | None) -> Request:
    """Restore a request from the result of ``to_json``; anything else raises some exception."""
    values = _from_plain(json.loads(content))
    if (name := values.get("_class")) is not None:
        module, _, kind = name.rpartition(".")
        found = getattr(sys.modules.get(module), kind, None)  # nothing is imported
        if not (isinstance(found, type) and issubclass(found, Request)):
            raise ValueError(f"{name} is no class of requests")
    return request_from_dict(values, spider=spider)


def _to_plain(value: Any) -> Any:
    """Write what JSON does not have as an object with the name of its type."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [_to_plain(one) for one in value]
    if kind is tuple:
        return {"tuple": [_to_plain(one) for one in value]}
    if kind is dict:
        return {"dict": [[_to_plain(key), _to_plain(one)] for key, one in value.items()]}
    if kind is bytes:
        return {"bytes": value.decode("latin-1")}
    raise TypeError(f"{value!r:.100} is not JSON")


def _from_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind == "tuple":
        return tuple(map(_from_plain, content))
    if kind == "dict":
        return {_from_plain(key): _from_plain(one) for key, one in content}
    if kind == "bytes":
        return content.encode("latin-1")
    raise ValueError(f"{kind} is no type of a request")
