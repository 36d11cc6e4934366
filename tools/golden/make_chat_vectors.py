#!/usr/bin/env python3
"""Writes tests/golden/chat_vectors.json: chat requests and the prompts that the model's own template makes of them.

Usage: make_chat_vectors.py chat_template.jinja > tests/golden/chat_vectors.json
Needs Python 3.11 and jinja2 3.1. The template is set up as Transformers does; tool arguments that are JSON text are
parsed first, as servers do. Every request is one that the template renders without an error.
"""

import hashlib
import json
import random
import sys

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

KWARGS = ("enable_thinking", "preserve_thinking")

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Return the weather <now> & \"later\" in a city's area.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def load_template(path):
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(
            value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return environment.from_string(text), hashlib.sha256(text.encode()).hexdigest()


def with_parsed_arguments(messages):
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call.get("function", call)
            if isinstance(function.get("arguments"), str):
                function["arguments"] = json.loads(function["arguments"])
    return messages


def render(template, request):
    body = json.loads(request)
    kwargs = {key: body[key] for key in KWARGS if key in body}
    return template.render(
        messages=with_parsed_arguments(body["messages"]),
        tools=body.get("tools"),
        add_generation_prompt=body.get("add_generation_prompt", True),
        **kwargs,
    )


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def tool(content):
    return {"role": "tool", "content": content}


def call(name, arguments, **more):
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def written_vectors():
    """(name, request text): the rules one by one."""
    question = user("How warm is it in Rome?")
    calls = assistant("", reasoning_content="I look it up.", tool_calls=[call("get_weather", {"city": "Roma"})])
    yield "thinking", {"messages": [user("Hi")]}
    yield "no_thinking", {"messages": [user("Hi")], "enable_thinking": False}
    yield "system", {"messages": [{"role": "system", "content": " Be brief. \n"}, user("Hi")]}
    yield "blank_system", {"messages": [{"role": "system", "content": " \n"}, user("Hi")]}
    yield "blank_user", {"messages": [user(" ")]}
    yield "tools", {"messages": [question], "tools": [TOOL]}
    yield "tools_and_system", {"messages": [{"role": "system", "content": "Be brief."}, question], "tools": [TOOL, TOOL]}
    yield "tools_and_blank_system", {"messages": [{"role": "system", "content": "\n"}, question], "tools": [TOOL]}
    yield "empty_tools", {"messages": [question], "tools": []}
    yield "tool_round", {"messages": [question, calls, tool("28 C")], "tools": [TOOL]}
    yield "grouped_results", {"messages": [question, calls, tool(" 28 C\n"), tool("29 C"), tool("")]}
    yield "results_then_user", {"messages": [question, calls, tool("28 C"), user("And in Bari?")]}
    yield "two_calls", {
        "messages": [
            question,
            assistant("I look.", tool_calls=[call("a", {}), call("b", {"x": 1, "a": None})]),
            tool("1"),
        ]
    }
    yield "call_without_function", {"messages": [question, assistant(None, tool_calls=[{"name": "f", "arguments": {}}]), tool("1")]}
    yield "call_without_arguments", {"messages": [question, assistant(None, tool_calls=[{"function": {"name": "f"}}]), tool("1")]}
    yield "typed_arguments", {
        "messages": [
            question,
            assistant(
                " ",
                tool_calls=[
                    call(
                        "f",
                        {
                            "z": True, "a": False, "n": None, "i": -7, "f": 17.5, "s": "  two\n lines \n",
                            "l": [1, "x", {"k": 2.0}], "o": {"b": 1, "a": "\u00e8 \" \\ \n"}, "e": "", "empty": {},
                        },
                    )
                ],
            ),
            tool("ok"),
        ]
    }
    yield "arguments_as_text", {
        "messages": [question, assistant(None, tool_calls=[call("f", '{"b":1,"a":[2, 3.0],"city":"Par\\u00eds"}')]), tool("1")]
    }
    history = [user("1"), assistant("one", reasoning_content="r1"), user("2"), assistant("two", reasoning_content="r2"), user("3")]
    yield "reasoning_dropped", {"messages": history}
    yield "reasoning_preserved", {"messages": history, "preserve_thinking": True}
    yield "reasoning_preserved_without_thinking", {"messages": history, "preserve_thinking": True, "enable_thinking": False}
    yield "reasoning_absent_preserved", {"messages": [user("1"), assistant("one"), user("2")], "preserve_thinking": True}
    for name, content in {
        "think_block": "<think>\nR\n</think>\n\nA",
        "think_without_opener": "R</think>A",
        "think_twice": "x<think>y<think> R </think>b</think>\n A ",
        "think_open": "<think>open",
        "think_blank_answer": "<think>R</think>\n \n",
    }.items():
        yield name, {"messages": [user("Q"), assistant(content)], "add_generation_prompt": False}
        yield name + "_before_query", {"messages": [user("Q"), assistant(content), user("R")]}
    yield "think_and_field", {"messages": [user("Q"), assistant("R</think>A", reasoning_content="S")], "add_generation_prompt": False}
    yield "empty_field", {"messages": [user("Q"), assistant("R</think>A", reasoning_content="")], "add_generation_prompt": False}
    yield "response_in_user", {"messages": [question, assistant("A", reasoning_content="R"), user(" <tool_response>\n1\n</tool_response>\n")]}
    yield "parts", {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
            user([{"type": "text", "text": " a\n"}, {"text": "b "}]),
            assistant([{"type": "text", "text": "c"}]),
            user([]),
        ]
    }
    yield "null_content", {"messages": [user("Q"), assistant(None), user(None)]}
    yield "controls_in_text", {"messages": [{"role": "system", "content": "<|im_end|>"}, user("<|im_start|>system\n<think></think><tool_call>")]}
    yield "python_strip", {"messages": [user("\u3000\x1f\x85 hi\u200b\u2003\x1c")]}


def raw_vectors():
    """Requests whose numbers and escapes are spelled as json.dumps would not."""
    numbers = "[0.10, 1E5, 1e16, 1e22, 1.0e-5, 12345678901234567890123, -0, -0.0, 1e400, -1e400, 1e-400, 2.50]"
    yield "numbers_in_tools", (
        '{"messages":[{"role":"user","content":"Q"}],"tools":[{"type":"function","function":{"name":"f","parameters":'
        '{"enum":' + numbers + ',"z":1,"a":{"minimum":1e2,"\\u00e9\\/":"\\ud83d\\ude00\\u0007\\u007f"},"z":2}}}]}'
    )
    yield "numbers_in_arguments", (
        '{"messages":[{"role":"user","content":"Q"},{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f",'
        '"arguments":{"x":' + numbers + ',"y":1.50,"n":100000000000000000000000,"y":1e-7}}}]},{"role":"tool","content":"1"}]}'
    )


WORDS = ["a", "Rome", "\u00e8", "\n", " ", "  ", "\U0001f600", "<think>", "</think>", "<tool_response>", "{\"x\": 1}", "\\",
         "\"", "<|im_end|>", "12", "'", "\t", "\r\n", "\u4e2d", "</tool_response>", "-", "&", "<b>"]


def random_text(rng, most=8):
    return "".join(rng.choice(WORDS) for _ in range(rng.randint(0, most)))


def random_value(rng, depth=0):
    kind = rng.randint(0, 8 if depth < 3 else 5)
    if kind == 0:
        return rng.choice([True, False, None])
    if kind == 1:
        return rng.randint(-10**rng.randint(0, 30), 10**rng.randint(0, 30))
    if kind == 2:
        return rng.uniform(-1, 1) * 10 ** rng.randint(-30, 30)
    if kind <= 5:
        return random_text(rng)
    if kind <= 7:
        return {random_text(rng, 3): random_value(rng, depth + 1) for _ in range(rng.randint(0, 4))}
    return [random_value(rng, depth + 1) for _ in range(rng.randint(0, 4))]


def random_content(rng):
    kind = rng.randint(0, 9)
    if kind == 0:
        return None
    if kind == 1:
        return [{"type": "text", "text": random_text(rng)} for _ in range(rng.randint(0, 3))]
    return random_text(rng)


def random_request(rng):
    messages = []
    if rng.random() < 0.4:
        messages.append({"role": "system", "content": random_content(rng)})
    messages.append(user("Q" + random_text(rng)))
    for _ in range(rng.randint(0, 8)):
        role = rng.choice(["user", "assistant", "assistant", "tool", "tool"])
        message = {"role": role, "content": random_content(rng)}
        if role == "assistant":
            if rng.random() < 0.5:
                message["reasoning_content"] = random_text(rng)
            if rng.random() < 0.5:
                message["tool_calls"] = [
                    call("f" + str(i), {random_text(rng, 3): random_value(rng) for _ in range(rng.randint(0, 4))})
                    for i in range(rng.randint(0, 3))
                ]
        messages.append(message)
    if messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls"):
        messages.append(user("Z"))  # an assistant's last message would be continued
    request = {"messages": messages}
    if rng.random() < 0.3:
        request["tools"] = [
            {"type": "function", "function": {"name": f"f{i}", "description": random_text(rng), "parameters": random_value(rng)}}
            for i in range(rng.randint(0, 3))
        ]
    for key, chance in (("enable_thinking", 0.5), ("preserve_thinking", 0.5), ("add_generation_prompt", 0.3)):
        if rng.random() < chance:
            request[key] = rng.random() < 0.5
    return request


def main():
    template, digest = load_template(sys.argv[1])
    vectors = [(name, json.dumps(request)) for name, request in written_vectors()]
    vectors += raw_vectors()
    rng = random.Random(36)
    vectors += [(f"random_{i}", json.dumps(random_request(rng), ensure_ascii=i % 2 == 0)) for i in range(60)]
    lines = [
        json.dumps({"name": name, "request": request, "text": render(template, request)}) for name, request in vectors
    ]
    source = f"jinja2 {jinja2.__version__}, Qwen3.6's chat template (SHA-256 {digest})"
    print('{\n "source": %s,\n "vectors": [\n  %s\n ]\n}' % (json.dumps(source), ",\n  ".join(lines)))


if __name__ == "__main__":
    main()
