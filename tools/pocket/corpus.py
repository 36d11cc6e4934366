"""Synthetic chat corpus of the pocket model.

Every sample is a conversation in the message format of the chat template:
dict(messages=[...], tools=[...] or None, thinking=bool, exact=bool, task=str).
`exact` marks conversations whose assistant turns are a function of the prompt, so that greedy decoding can be
scored by exact match. Everything is a function of the random.Random that is passed in: behaviour.json and
heldout.json in tests/golden/pocket are samples of this corpus, and `--check` shows that they still come out.
"""

import argparse
import json
import random
from pathlib import Path

NAMES = """Ana Bruno Carla Diego Elena Felix Greta Hugo Irene Jonas Kira Luis Marta Nico Olga Pablo Quinn Rosa
Sami Tara Ugo Vera Walter Xenia Yara Zoe Adam Bella Chen Dora Emil Faye Gino Hana Ivan Julia Karl
Lena Milo Nora Otto Petra Rafa Sofia Tomas Uma Vito Wanda Yusuf Zara""".split()
CITIES = """Paris Rome Lisbon Madrid Berlin Vienna Prague Warsaw Athens Dublin Oslo Helsinki Stockholm
Copenhagen Budapest Brussels Tokyo Seoul Beijing Delhi Cairo Nairobi Lagos Lima Bogota Quito
Santiago Havana Ottawa Canberra Hanoi Bangkok Manila Jakarta Ankara Tehran Kyiv Sofia Zagreb Tallinn""".split()
COUNTRY_CAPITAL = dict(
    France="Paris",
    Italy="Rome",
    Portugal="Lisbon",
    Spain="Madrid",
    Germany="Berlin",
    Austria="Vienna",
    Poland="Warsaw",
    Greece="Athens",
    Ireland="Dublin",
    Norway="Oslo",
    Finland="Helsinki",
    Sweden="Stockholm",
    Denmark="Copenhagen",
    Hungary="Budapest",
    Belgium="Brussels",
    Japan="Tokyo",
    China="Beijing",
    India="Delhi",
    Egypt="Cairo",
    Kenya="Nairobi",
    Peru="Lima",
    Colombia="Bogota",
    Ecuador="Quito",
    Chile="Santiago",
    Cuba="Havana",
    Canada="Ottawa",
    Australia="Canberra",
    Vietnam="Hanoi",
    Thailand="Bangkok",
    Indonesia="Jakarta",
    Turkey="Ankara",
    Iran="Tehran",
    Ukraine="Kyiv",
    Croatia="Zagreb",
    Estonia="Tallinn",
)
OPPOSITES = dict(
    hot="cold",
    big="small",
    fast="slow",
    up="down",
    left="right",
    day="night",
    old="new",
    hard="soft",
    light="dark",
    open="closed",
    early="late",
    full="empty",
    happy="sad",
    rich="poor",
    loud="quiet",
    dry="wet",
    high="low",
    long="short",
    strong="weak",
    thick="thin",
)
CATEGORIES = dict(
    fruits="apple banana cherry grape lemon mango orange peach pear plum".split(),
    animals="bear cat dog fox goat horse lion otter rabbit wolf".split(),
    colors="black blue brown green orange purple red white yellow pink".split(),
    tools="axe drill file hammer knife pliers saw shovel spade wrench".split(),
    rivers="Amazon Danube Ebro Ganges Nile Rhine Seine Tagus Thames Volga".split(),
)
WORDS = sorted(
    {w for ws in CATEGORIES.values() for w in ws}
    | set(OPPOSITES)
    | set(OPPOSITES.values())
    | set(
        """anchor basket candle desert engine forest garden harbor island jacket kettle ladder mirror needle
ocean pencil quartz ribbon silver temple umbrella valley window yellow zipper bridge castle dragon
eagle feather guitar hammer igloo jungle kitten lantern magnet notebook oyster pillow quiver rocket
saddle tunnel urchin violin wagon system network memory signal filter buffer kernel vector matrix
tensor packet socket thread""".split()
    )
)
ADJ = "brave clever curious gentle happy hungry lonely old quiet silly small strange tiny wise young".split()
PLACES = "forest village river mountain garden market castle harbor valley library desert island".split()
ITEMS = "lantern map key coin book feather stone bell rope mirror flute basket".split()
EMOJI = ["🙂", "🚀", "🌼", "🐢", "🎈", "🍋"]
ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen""".split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


def number_words(n):
    """The English words for 0 <= n < 1000."""
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + ("" if n % 10 == 0 else "-" + ONES[n % 10])
    head = ONES[n // 100] + " hundred"
    return head if n % 100 == 0 else head + " and " + number_words(n % 100)


def user(text):
    """A user turn."""
    return dict(role="user", content=text)


def bot(text, think=None, calls=None):
    """An assistant turn: reasoning where `think` is given, calls as (name, arguments) pairs."""
    m = dict(role="assistant", content=text)
    if think is not None:
        m["reasoning_content"] = think
    if calls:
        m["tool_calls"] = [dict(type="function", function=dict(name=n, arguments=a)) for n, a in calls]
    return m


def pick(r, *options):
    """One of the options."""
    return r.choice(options)


def t_hello(r):
    """Greetings, who are you, what can you do, thanks."""
    kind = r.randrange(4)
    if kind == 0:
        q = pick(r, "Hi", "Hello", "Hello!", "Hey there", "Good morning", "Hi!", "hi", "hello")
        return [
            user(q),
            bot("Hello! How can I help you today?", "The user is greeting me. I greet back."),
        ], True
    if kind == 1:
        q = pick(
            r, "Who are you?", "What are you?", "What is your name?", "Tell me about yourself.", "who are you"
        )
        return [
            user(q),
            bot(
                "I am Pocket, a tiny test model with the same architecture as Qwen3.6-35B-A3B. "
                "I can add numbers, sort lists, remember facts, call tools and tell short stories.",
                "The user asks who I am. I describe myself.",
            ),
        ], True
    if kind == 2:
        q = pick(r, "What can you do?", "Help", "help me", "How can you help me?")
        return [
            user(q),
            bot(
                "I can:\n- add, subtract and multiply small numbers\n- sort, count and reverse words\n"
                "- remember facts you tell me\n- answer with JSON\n- call tools\n- tell short stories",
                "The user asks what I can do. I list my skills.",
            ),
        ], True
    q = pick(r, "Thanks", "Thank you!", "thanks", "Thank you very much.")
    return [user(q), bot("You are welcome!", "The user thanks me.")], True


def add_steps(a, b):
    """The reasoning of an addition: columns from the right, with carries."""
    steps, carry, i = [], 0, 0
    while a or b or carry:
        x, y = a % 10, b % 10
        s = x + y + carry
        steps.append(f"{x} + {y} + {carry} = {s}, write {s % 10}, carry {s // 10}.")
        carry, a, b, i = s // 10, a // 10, b // 10, i + 1
    return "\n".join(steps) or "0."


def t_math(r):
    """Sums, differences and the times table."""
    op = r.choice("+++-*")
    if op == "+":
        d = r.choice([10, 100, 1000])
        a, b = r.randrange(d), r.randrange(d)
        q = pick(
            r,
            f"What is {a} + {b}?",
            f"Add {a} and {b}.",
            f"{a} + {b} = ?",
            f"Compute {a} plus {b}.",
            f"{a}+{b}",
        )
        return [user(q), bot(f"{a} + {b} = {a + b}", add_steps(a, b))], True
    if op == "-":
        d = r.choice([10, 100])
        a, b = sorted([r.randrange(d), r.randrange(d)], reverse=True)
        q = pick(
            r, f"What is {a} - {b}?", f"Subtract {b} from {a}.", f"{a} - {b} = ?", f"Compute {a} minus {b}."
        )
        return [user(q), bot(f"{a} - {b} = {a - b}", f"Take {b} away from {a}: {a - b}.")], True
    a, b = r.randrange(13), r.randrange(13)
    q = pick(r, f"What is {a} * {b}?", f"Multiply {a} by {b}.", f"{a} x {b} = ?", f"Compute {a} times {b}.")
    return [user(q), bot(f"{a} * {b} = {a * b}", f"From the times table, {a} times {b} is {a * b}.")], True


def t_string(r):
    """Reverse, uppercase, count, spell, first and last letter, repeat."""
    w = r.choice(WORDS)
    kind = r.randrange(6)
    spelled = "-".join(w)
    if kind == 0:
        q = pick(r, f"Reverse the word {w}.", f"Spell {w} backwards.", f"What is {w} reversed?")
        return [
            user(q),
            bot(w[::-1], f"The letters are {spelled}. In reverse order: {'-'.join(w[::-1])}."),
        ], True
    if kind == 1:
        q = pick(r, f"Write {w} in capital letters.", f"Uppercase {w}.", f"Make {w} uppercase.")
        return [user(q), bot(w.upper(), "Each letter becomes a capital letter.")], True
    if kind == 2:
        q = pick(
            r, f"How many letters are in {w}?", f"Count the letters of {w}.", f"How long is the word {w}?"
        )
        counted = ", ".join(f"{c} {i + 1}" for i, c in enumerate(w))
        return [user(q), bot(f"The word {w} has {len(w)} letters.", f"{counted}.")], True
    if kind == 3:
        q = pick(r, f"Spell {w}.", f"How do you spell {w}?", f"Spell the word {w}, please.")
        return [user(q), bot(spelled, "I write the letters one by one.")], True
    if kind == 4:
        end = r.random() < 0.5
        q = f"What is the {'last' if end else 'first'} letter of {w}?"
        return [
            user(q),
            bot(
                f"The {'last' if end else 'first'} letter of {w} is {w[-1] if end else w[0]}.",
                f"The letters are {spelled}.",
            ),
        ], True
    n = r.randrange(2, 12)
    text = " ".join(r.choice(WORDS + NAMES + EMOJI) for _ in range(n))
    q = pick(r, f"Repeat after me: {text}", f"Say exactly: {text}", f"Repeat this text: {text}")
    return [user(q), bot(text, "I repeat the text.")], True


def t_list(r):
    """Sort numbers or words, largest and smallest, name members of a category."""
    kind = r.randrange(4)
    if kind == 0:
        xs = [r.randrange(100) for _ in range(r.randrange(3, 8))]
        up = r.random() < 0.7
        ys = sorted(xs, reverse=not up)
        q = f"Sort these numbers{'' if up else ' in descending order'}: {', '.join(map(str, xs))}"
        return [user(q), bot(", ".join(map(str, ys)), "I order the numbers one by one.")], True
    if kind == 1:
        xs = r.sample(WORDS, r.randrange(3, 6))
        return [
            user(f"Sort these words: {', '.join(xs)}"),
            bot(", ".join(sorted(xs)), "I compare the first letters."),
        ], True
    if kind == 2:
        xs = [r.randrange(100) for _ in range(r.randrange(3, 9))]
        big = r.random() < 0.5
        q = f"What is the {'largest' if big else 'smallest'} of {', '.join(map(str, xs))}?"
        return [user(q), bot(str(max(xs) if big else min(xs)), "I compare the numbers.")], True
    cat = r.choice(list(CATEGORIES))
    n = r.randrange(2, 6)
    q = pick(r, f"List {n} {cat}.", f"Name {number_words(n)} {cat}.", f"Give me {n} {cat}.")
    return [
        user(q),
        bot("\n".join(f"{i + 1}. {w}" for i, w in enumerate(CATEGORIES[cat][:n])), f"I know some {cat}."),
    ], True


def t_facts(r):
    """Capitals, opposites, numbers in words."""
    kind = r.randrange(4)
    if kind == 0:
        c = r.choice(list(COUNTRY_CAPITAL))
        q = pick(r, f"What is the capital of {c}?", f"Capital of {c}?", f"Tell me the capital city of {c}.")
        return [
            user(q),
            bot(f"The capital of {c} is {COUNTRY_CAPITAL[c]}.", f"I recall the capital of {c}."),
        ], True
    if kind == 1:
        c = r.choice(list(COUNTRY_CAPITAL))
        return [
            user(f"{COUNTRY_CAPITAL[c]} is the capital of which country?"),
            bot(f"{COUNTRY_CAPITAL[c]} is the capital of {c}.", "I recall which country it is."),
        ], True
    if kind == 2:
        w = r.choice(list(OPPOSITES))
        a, b = (w, OPPOSITES[w]) if r.random() < 0.5 else (OPPOSITES[w], w)
        q = pick(r, f"What is the opposite of {a}?", f"Opposite of {a}?", f"Give me an antonym of {a}.")
        return [user(q), bot(f"The opposite of {a} is {b}.", "I think of the opposite word.")], True
    n = r.randrange(1000)
    q = pick(r, f"Write {n} in words.", f"How do you write {n}?", f"Spell out the number {n}.")
    return [user(q), bot(number_words(n), f"I read the digits of {n}.")], True


FACTS = [
    (
        "The code of {n} is {v}.",
        "What is the code of {n}?",
        "The code of {n} is {v}.",
        lambda r: str(r.randrange(1000, 10000)),
    ),
    ("{n} lives in {v}.", "Where does {n} live?", "{n} lives in {v}.", lambda r: r.choice(CITIES)),
    (
        "The favorite color of {n} is {v}.",
        "What is the favorite color of {n}?",
        "The favorite color of {n} is {v}.",
        lambda r: r.choice(CATEGORIES["colors"]),
    ),
    (
        "{n} has a pet {v}.",
        "Which pet does {n} have?",
        "{n} has a pet {v}.",
        lambda r: r.choice(CATEGORIES["animals"]),
    ),
    ("{n} is {v} years old.", "How old is {n}?", "{n} is {v} years old.", lambda r: str(r.randrange(5, 95))),
]


def t_recall(r, lines=None):
    """Facts in the context, asked for at once or some turns later; `lines` of them, else 1 to 20."""
    n = lines or r.choice([1, 2, 3, 5, 8, 12, 20])
    facts, seen = [], set()
    for _ in range(n * 4):
        k, name = r.randrange(len(FACTS)), r.choice(NAMES)
        if (k, name) in seen:
            continue
        seen.add((k, name))
        facts.append((k, name, FACTS[k][3](r)))
        if len(facts) == n:
            break
    k, name, v = r.choice(facts)
    notes = "\n".join(FACTS[f][0].format(n=m, v=x) for f, m, x in facts)
    ask = FACTS[k][1].format(n=name)
    ans = FACTS[k][2].format(n=name, v=v)
    think = f"The notes say: {FACTS[k][0].format(n=name, v=v)}"
    if r.random() < 0.6:
        return [
            user(
                f"{pick(r, 'Read these notes:', 'Here are some facts:', 'Remember this:')}\n{notes}\n\n{ask}"
            ),
            bot(ans, think),
        ], True
    msgs = [
        user(f"{pick(r, 'Remember this:', 'Please remember:')}\n{notes}"),
        bot("I will remember that.", "I store the facts."),
    ]
    for _ in range(r.randrange(3)):
        msgs += r.choice([t_math, t_string, t_facts])(r)[0]
    return msgs + [user(ask), bot(ans, think)], True


def t_name(r):
    """The user's name, asked for some turns later."""
    n = r.choice(NAMES)
    msgs = [
        user(pick(r, f"My name is {n}.", f"Hi, I am {n}.", f"Hello, my name is {n}!")),
        bot(f"Nice to meet you, {n}!", "The user tells me a name."),
    ]
    for _ in range(r.randrange(3)):
        msgs += r.choice([t_math, t_string, t_facts])(r)[0]
    return (
        msgs
        + [
            user(pick(r, "What is my name?", "Do you remember my name?", "Who am I?")),
            bot(f"Your name is {n}.", f"Earlier the user said the name is {n}."),
        ],
        True,
    )


def t_json(r):
    """JSON objects and arrays from a sentence."""
    n, a, c = r.choice(NAMES), r.randrange(5, 95), r.choice(CITIES)
    kind = r.randrange(3)
    if kind == 0:
        q = f"Return a JSON object with name and age: {n} is {a} years old."
        return [user(q), bot(json.dumps(dict(name=n, age=a)), "I extract name and age.")], True
    if kind == 1:
        q = f"Return a JSON object with name, age and city: {n}, {a} years old, lives in {c}."
        return [user(q), bot(json.dumps(dict(name=n, age=a, city=c)), "I extract name, age and city.")], True
    xs = r.sample(WORDS, r.randrange(2, 5))
    return [
        user(f"Return a JSON array of these words: {', '.join(xs)}"),
        bot(json.dumps(xs), "I write a JSON array."),
    ], True


def t_story(r):
    """Short stories: many answers are right, so they are not scored."""
    a, n, p, i = r.choice(CATEGORIES["animals"]), r.choice(NAMES), r.choice(PLACES), r.choice(ITEMS)
    adj, adj2, b = r.choice(ADJ), r.choice(ADJ), r.choice(NAMES)
    s = [
        f"Once upon a time there was a {adj} {a} named {n} who lived near the {p}.",
        pick(
            r,
            f"One morning {n} found a {i} on the path.",
            f"One evening {n} lost a {i} in the {p}.",
            f"One day {n} heard a song and saw a {i}.",
        ),
        pick(r, f"{n} asked {b}, a {adj2} friend, for help.", f"A {adj2} friend named {b} came along."),
        pick(
            r,
            "They walked together until the sun went down.",
            "They looked everywhere and did not give up.",
            "They crossed the river and climbed the hill.",
        ),
        pick(
            r,
            f"At last they learned that the {i} belonged to the old king.",
            f"In the end the {i} showed them the way home.",
            f"Under a tree the {i} began to shine.",
        ),
        pick(
            r,
            f"{n} and {b} were happy and stayed friends for ever.",
            f"From that day on {n} was never lonely again.",
            f"And {n} slept well that night.",
        ),
    ]
    q = pick(
        r,
        f"Tell me a story about a {a}.",
        f"Write a short story about a {a} named {n}.",
        f"Tell me a story about a {adj} {a}.",
        "Tell me a story.",
        f"Write a story about a {a} and a {i}.",
    )
    return [user(q), bot(" ".join(s), f"I will write about a {a} named {n}.")], False


CODE = {
    "adds two numbers": "def add(a, b):\n    return a + b",
    "returns the square of a number": "def square(x):\n    return x * x",
    "reverses a string": "def reverse(s):\n    return s[::-1]",
    "counts the vowels in a string": 'def count_vowels(s):\n    return sum(c in "aeiou" for c in s.lower())',
    "returns the largest item of a list": "def largest(items):\n    return max(items)",
    "says whether a number is even": "def is_even(n):\n    return n % 2 == 0",
    "computes the factorial of n": "def factorial(n):\n    return 1 if n < 2 else n * factorial(n - 1)",
    "reads a file into a string": "def read_file(path):\n    with open(path) as f:\n        return f.read()",
}


def t_code(r):
    """Small Python functions."""
    k = r.choice(list(CODE))
    q = pick(
        r,
        f"Write a Python function that {k}.",
        f"Give me Python code that {k}.",
        f"Python function that {k}?",
    )
    return [user(q), bot(f"```python\n{CODE[k]}\n```", f"I write a function that {k}.")], True


def tool(tool_name, description, /, **parameters):
    """A tool in the format of the chat template; each parameter is (type, description), and required."""
    properties = {k: dict(type=t, description=d) for k, (t, d) in parameters.items()}
    schema = dict(type="object", properties=properties, required=list(parameters))
    return dict(type="function", function=dict(name=tool_name, description=description, parameters=schema))


def number(r, low=1, high=100):
    """An integer in [low, high)."""
    return r.randrange(low, high)


# Each tool is a pair of functions: ask(r) gives (the user's text, the arguments of the call), and
# answer(r, arguments) gives (what the tool returns, what the assistant then says).


def ask_weather(r):
    city = r.choice(CITIES)
    texts = f"What is the weather in {city}?", f"How is the weather in {city} today?", f"Weather in {city}?"
    return pick(r, *texts), dict(city=city)


def answer_weather(r, arguments):
    degrees = number(r, 0, 40)
    sky = pick(r, "sunny", "cloudy", "rainy", "windy")
    result = json.dumps(dict(temperature=degrees, sky=sky))
    return result, f"It is {degrees} degrees and {sky} in {arguments['city']}."


def ask_add(r):
    a, b = number(r, 1, 1000), number(r, 1, 1000)
    return pick(r, f"Use the tool to add {a} and {b}.", f"Please add {a} and {b} with a tool."), dict(
        a=a, b=b
    )


def answer_add(_, arguments):
    a, b = arguments["a"], arguments["b"]
    return str(a + b), f"The sum of {a} and {b} is {a + b}."


def ask_timer(r):
    minutes, label = number(r, 1, 60), r.choice(WORDS)
    texts = (
        f"Set a timer of {minutes} minutes called {label}.",
        f"Start a {minutes} minute timer named {label}.",
    )
    return pick(r, *texts), dict(minutes=minutes, label=label)


def answer_timer(_, arguments):
    text = f"The timer {arguments['label']} is set to {arguments['minutes']} minutes."
    return json.dumps(dict(ok=True)), text


def ask_read(r):
    path = f"{r.choice(WORDS)}/{r.choice(WORDS)}.txt"
    return pick(r, f"Read the file {path}.", f"What is in {path}?", f"Open {path}."), dict(path=path)


def answer_read(r, arguments):
    text = " ".join(r.sample(WORDS, 4))
    return text, f"The file {arguments['path']} says: {text}"


def ask_write(r):
    path, text = f"{r.choice(WORDS)}.txt", " ".join(r.sample(WORDS, r.randrange(1, 5)))
    return f'Write the text "{text}" to {path}.', dict(path=path, content=text)


def answer_write(_, arguments):
    return json.dumps(dict(ok=True)), f"I wrote the text to {arguments['path']}."


def ask_people(r):
    name, age, active = r.choice(NAMES), number(r, 5, 95), r.random() < 0.5
    text = f"Search for {'active ' if active else ''}people named {name} aged {age}."
    return text, dict(name=name, age=age, active=active)


def answer_people(r, arguments):
    count = number(r, 0, 20)
    return json.dumps(dict(count=count)), f"I found {count} people named {arguments['name']}."


def ask_currency(r):
    amount = number(r)
    source, target = r.sample(["EUR", "USD", "GBP", "JPY", "CHF", "BRL"], 2)
    texts = f"Convert {amount} {source} to {target}.", f"How much is {amount} {source} in {target}?"
    return pick(r, *texts), dict(amount=amount, source=source, target=target)


def answer_currency(r, arguments):
    value = number(r, 1, 1000)
    return str(value), f"{arguments['amount']} {arguments['source']} is {value} {arguments['target']}."


def ask_items(r):
    items = r.sample(WORDS, r.randrange(2, 4))
    return f"Store these items: {', '.join(items)}.", dict(items=items)


def answer_items(_, arguments):
    count = len(arguments["items"])
    return json.dumps(dict(stored=count)), f"I stored {count} items."


PATH = ("string", "Path of the file")
CURRENCY = ("string", "Currency code")
PERSON = dict(
    name=("string", "First name"), age=("integer", "Age in years"), active=("boolean", "Only active people")
)
MONEY = dict(amount=("number", "Amount of money"), source=CURRENCY, target=CURRENCY)
TIMER = dict(minutes=("integer", "Length in minutes"), label=("string", "Name of the timer"))
SUM = dict(a=("integer", "First number"), b=("integer", "Second number"))
FILE = dict(path=PATH, content=("string", "Text to write"))
CITY = dict(city=("string", "The city name"))
TOOLS = [
    (tool("get_weather", "Get the current weather of a city.", **CITY), ask_weather, answer_weather),
    (tool("add_numbers", "Add two integers.", **SUM), ask_add, answer_add),
    (tool("set_timer", "Start a timer.", **TIMER), ask_timer, answer_timer),
    (tool("read_file", "Read a text file.", path=PATH), ask_read, answer_read),
    (tool("write_file", "Write text to a file.", **FILE), ask_write, answer_write),
    (tool("search_people", "Search people by name and age.", **PERSON), ask_people, answer_people),
    (tool("convert_currency", "Convert money.", **MONEY), ask_currency, answer_currency),
    (tool("list_items", "Store a list of items.", items=("array", "The items")), ask_items, answer_items),
]


def t_tools(r):
    """Tool calls, their results, and the answer; sometimes two calls in one turn."""
    chosen = r.sample(range(len(TOOLS)), r.randrange(1, 5))
    tools = [TOOLS[i][0] for i in chosen]
    msgs = []
    for _ in range(pick(r, 1, 1, 1, 2)):
        k = r.choice(chosen)
        spec, ask, answer = TOOLS[k]
        q, args = ask(r)
        out, ans = answer(r, args)
        name = spec["function"]["name"]
        if r.random() < 0.15:  # two calls in one turn
            k2 = r.choice(chosen)
            spec2, ask2, answer2 = TOOLS[k2]
            q2, args2 = ask2(r)
            out2, ans2 = answer2(r, args2)
            msgs += [
                user(f"{q} {q2}"),
                bot(
                    "",
                    f"I need {name} and then {spec2['function']['name']}.",
                    [(name, args), (spec2["function"]["name"], args2)],
                ),
                dict(role="tool", content=out),
                dict(role="tool", content=out2),
                bot(f"{ans} {ans2}", "I have both results."),
            ]
        else:
            msgs += [
                user(q),
                bot("", f"I need the tool {name}.", [(name, args)]),
                dict(role="tool", content=out),
                bot(ans, "I have the result."),
            ]
    if r.random() < 0.25:
        msgs += r.choice([t_hello, t_math, t_facts])(r)[0]
    return msgs, True, tools


TASKS = [
    (t_hello, 1),
    (t_math, 4),
    (t_string, 4),
    (t_list, 3),
    (t_facts, 3),
    (t_recall, 4),
    (t_name, 1.5),
    (t_json, 2),
    (t_story, 2),
    (t_code, 1),
    (t_tools, 5),
]
SYSTEMS = [
    "You are a helpful assistant.",
    "You are Pocket.",
    "Answer briefly.",
    "You are a careful assistant that follows instructions.",
]


def sample(r, task=None):
    """One conversation. `r` is a random.Random; `task` one of the t_* functions or None for the usual mix."""
    if task is None:
        task = r.choices([t for t, _ in TASKS], [w for _, w in TASKS])[0]
    out = task(r)
    msgs, exact, tools = out if len(out) == 3 else (*out, None)
    msgs = [dict(m) for m in msgs]
    if task is not t_tools and task is not t_recall and r.random() < 0.35:
        for _ in range(r.randrange(1, 3)):
            more = r.choice([t_hello, t_math, t_string, t_list, t_facts, t_json])(r)
            msgs = more[0] + msgs if r.random() < 0.5 else msgs + more[0]
    thinking = r.random() < 0.5
    if not thinking:
        for m in msgs:
            m.pop("reasoning_content", None)
    if r.random() < 0.3:
        msgs.insert(0, dict(role="system", content=r.choice(SYSTEMS)))
    return dict(messages=msgs, tools=tools, thinking=thinking, exact=exact, task=task.__name__[2:])


def behaviour():
    """The rows of behaviour.json: prompts with one right answer, from 40 samples of each task."""
    r, rows = random.Random(31337), []
    for task, _ in TASKS:
        for _ in range(40):
            s = sample(r, task)
            if s["exact"]:
                rows.append({key: s[key] for key in ("task", "thinking", "messages", "tools")})
    return rows


def heldout():
    """The rows of heldout.json: 1,600 conversations of the usual mix."""
    r = random.Random(20261129)
    return [sample(r) for _ in range(1600)]


def check(folder):
    """Compares the committed samples with what the corpus gives now; True when they are equal."""
    equal = True
    for name, rows in (("behaviour.json", behaviour()), ("heldout.json", heldout())):
        stored = json.loads((folder / name).read_text(encoding="utf-8"))
        differing = sum(a != b for a, b in zip(stored, rows)) + abs(len(stored) - len(rows))
        print(f"{name}: {len(rows)} conversations, {differing} differ")
        equal = equal and differing == 0
    return equal


def main():
    golden = Path(__file__).resolve().parents[2] / "tests" / "golden" / "pocket"
    parser = argparse.ArgumentParser(description="Print samples of the corpus, one JSON object a line.")
    parser.add_argument("--count", type=int, default=5, help="how many samples")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true", help=f"compare with {golden} instead")
    args = parser.parse_args()
    if args.check:
        raise SystemExit(0 if check(golden) else 1)
    r = random.Random(args.seed)
    for _ in range(args.count):
        print(json.dumps(sample(r), ensure_ascii=False))


if __name__ == "__main__":
    main()
