#!/usr/bin/env python3
"""Writes tests/golden/python_json_vectors.json: JSON texts and what json.dumps(json.loads(text), ensure_ascii=False)
makes of them; null where json.loads refuses the text.

Usage: make_python_json_vectors.py > tests/golden/python_json_vectors.json
Needs Python 3.11. Lone surrogates, which lirio reads as U+FFFD, are left to the unit test.
"""

import json
import math
import random
import struct
import sys


def written_texts():
    numbers = """
        0 -0 1 -1 10 007 01 -01 +1 1. .5 1.0 -0.0 0.0 0e0 0E5 0.0e99999999999 -0e-5 1e5 1E5 1e+5 1e-5 1e 1e+ 1.e5 - -a
        1e15 1e16 1e17 123456789012345678 1234567890123456.0 12345678901234567.0 9007199254740993 9007199254740993.0
        9999999999999998.0 99999999999999990.0 1e21 1e22 1e23 1e100 1e-4 0.0001 0.00012 1e-5 0.00001 1.5e-5 1e-10 1e-100
        5e-324 2.5e-324 2.4e-324 4.9406564584124654e-324 1e-323 2.2250738585072014e-308 2.2250738585072011e-308
        1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 1e308 1e309 -1e309 1e400 -1e400 1e-400 -1e-400
        1e99999999999999999999 1e-99999999999999999999 0.1 0.2 0.3 0.30000000000000004 100.0 123.456 0.1e1 1.10 2.50
        1e0 1e1 3.14159265358979323846264338327950288 123456789.123456789 4.35 0.000001 1000000.0 1e6 1e7
        18446744073709551615 18446744073709551616 -9223372036854775809 123456789012345678901234567890 NaN Infinity -Infinity
        -NaN nan inf Inf infinity +Infinity NaN1 0x10 1_000 1,5 ١
        """.split()
    yield from numbers
    yield "0." + "0" * 400 + "1"
    yield "1" + "0" * 400 + ".0"
    yield "0." + "0" * 400 + "1e400"
    yield "1" + "0" * 400 + ".0e-400"
    yield "1" * 4000
    yield from ["true", "false", "null", "True", "None", "tru", "nul", "truee", "null null", "", " ", "\n1\t", "\u00a01", "\ufeff"]
    yield from ['""', '"', '"a', "'a'", '"a"b', '"\\"', '"\\\\"', '"\\/"', '"\\b\\f\\n\\r\\t\\"\\\\"', '"\\a"', '"\\u00e9"', '"\\u00E9"',
                '"\\u12"', '"\\u12g4"', '"\\U0001f600"', '"\\ud83d\\ude00"', '"\\u0000\\u0001\\u001f\\u007f\\u0080\\u2028\\ufeff"',
                '"\t"', '"\n"', '"\x00"', '"\x7f"', '"\u00e9\u4e2d\U0001f600"', '"\\x41"', '"\\\'"', '"a\\']
    yield from ["[]", "{}", "[ ]", "{ }", "[1,2]", "[ 1 , 2 ]", "[1,]", "[,1]", "[1 2]", "[1", "]", "[1]]", '{"a":1}', '{"a" : 1 , "b":[]}',
                '{"a":1,}', "{,}", '{"a"}', '{"a":}', '{a:1}', '{1:2}', '{"a":1 "b":2}', '{"a":1', "}", '{"a":{"b":[{"c":null}]}}',
                "[[[[]]]]", "[1}", '{"a":1]', "//\n1", "[1]//", "/**/1"]
    yield from ['{"a":1,"a":2}', '{"a":1,"b":2,"a":3}', '{"b":1,"a":{"x":1,"x":2},"b":[3]}', '{"a":1,"\\u0061":2}',
                '{"a":{},"a":{"a":1,"a":2},"c":0,"a":[1]}', '{"":1,"":2}', '{"b":0,"a":0,"B":0,"A":0}',
                '{"<b>":"</script>","&":"\'"}']
    yield "[" * 400 + "]" * 400
    yield '{"a":' * 200 + "1" + "}" * 200


def random_double(rng):
    kind = rng.randint(0, 4)
    if kind == 0:
        value = struct.unpack("<d", rng.randbytes(8))[0]
        return value if math.isfinite(value) else 0.5
    if kind == 1:
        return rng.randint(-10**6, 10**6) / 10 ** rng.randint(0, 8)
    if kind == 2:
        return float(rng.randint(0, 10**18))
    if kind == 3:
        return math.ldexp(1, rng.randint(-1074, 1023))
    return rng.uniform(-1, 1) * 10.0 ** rng.randint(-20, 20)


def random_value(rng, depth):
    kind = rng.randint(0, 7 if depth < 4 else 4)
    if kind == 0:
        return rng.choice([True, False, None, math.inf, -math.inf, math.nan])
    if kind == 1:
        return rng.randint(-10**25, 10**25)
    if kind == 2:
        return random_double(rng)
    if kind <= 4:
        return "".join(chr(rng.choice([34, 92, 47, 10, 7, 65, 97, 233, 0x2028, 0x1F600, 0x7F, 32])) for _ in range(rng.randint(0, 6)))
    if kind <= 6:
        return {chr(97 + rng.randint(0, 5)): random_value(rng, depth + 1) for _ in range(rng.randint(0, 5))}
    return [random_value(rng, depth + 1) for _ in range(rng.randint(0, 5))]


def texts():
    yield from written_texts()
    rng = random.Random(36)
    for _ in range(400):
        yield format(random_double(rng), rng.choice([".17e", ".3e", ".16g", ".5f", ".20g"]))
    for i in range(100):
        yield json.dumps(random_value(rng, 0), indent=rng.choice([None, 1]), ensure_ascii=i % 2 == 0)


def result(text):
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return None


def main():
    lines = [json.dumps([text, result(text)]) for text in texts()]
    source = f"Python {sys.version.split()[0]}: [text, json.dumps(json.loads(text), ensure_ascii=False)]"
    print('{\n "source": %s,\n "vectors": [\n  %s\n ]\n}' % (json.dumps(source), ",\n  ".join(lines)))


if __name__ == "__main__":
    main()
