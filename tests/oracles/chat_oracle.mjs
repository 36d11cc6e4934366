// `lirio render` against the model's own template, run by @huggingface/jinja, on generated chats; and the ids of
// `lirio tokenize --chat` against @huggingface/tokenizers on the rendered text, with the pocket model's tokenizer.
// Usage: chat_oracle.mjs LIRIO SOURCE_DIR. The template is read from LIRIO_SHARED_DIR; without it the test is skipped.
//
// Only what the template renders is generated, and of it only what JavaScript spells as Python does: whole numbers below
// 2^53, fractions that are not whole, and whitespace that both trim. @huggingface/jinja's lstrip('\n') strips any
// whitespace, so no other may follow a </think> there.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Chance, load, Report, run_batch, skip } from './lib.mjs';

const [program, source] = process.argv.slice(2);
const { Template } = await load('@huggingface/jinja');
const { Tokenizer } = await load('@huggingface/tokenizers');
const shared = process.env.LIRIO_SHARED_DIR;
const template_file = join(shared ?? '', 'model', 'chat_template_qwen36.jinja');
if (!shared || !existsSync(template_file)) skip('LIRIO_SHARED_DIR has no chat template');

const chance = new Chance(36);
const words = ['a', 'Rome', 'è', '\n', ' ', '  ', '\t', '\r\n', '😀', '中文', '{"x": 1}', '\\', '"', "'", '12', '&', '<b>', '-',
  '</parameter>', '\u3000', 'e\u0301', '\u0007', '/'];
const tags = ['<think>', '</think>', '<tool_response>', '</tool_response>', '<tool_call>', '<|im_end|>', '<|im_start|>'];

function text(most = 8, with_tags = true) {
  let out = '';
  for (let n = chance.below(most + 1); n > 0; --n) {
    out += with_tags && chance.happens(0.15) ? chance.pick(tags) : chance.pick(words);
  }
  return out;
}

function value(depth = 0) {
  switch (chance.below(depth < 3 ? 9 : 6)) {
    case 0: return chance.pick([true, false, null]);
    case 1: return chance.below(2 ** 31) * chance.pick([1, -1, 4096]);
    case 2: return (chance.below(2000) * 2 - 2001) / 16;
    case 3: case 4: case 5: return text();
    case 6: case 7: return object(depth + 1);
    default: return Array.from({ length: chance.below(4) }, () => value(depth + 1));
  }
}

/** Keys that JavaScript doesn't reorder: none looks like a number. */
function object(depth) {
  return Object.fromEntries(Array.from({ length: chance.below(4) }, () => ['k' + text(2), value(depth)]));
}

function content(with_tags) {
  if (chance.happens(0.1)) return null;
  if (chance.happens(0.1)) {
    return Array.from({ length: chance.below(4) }, () => ({ type: 'text', text: text(6, with_tags) }));
  }
  return text(8, with_tags);
}

function calls() {
  return Array.from({ length: chance.below(4) }, (_, i) => {
    const call = { name: 'f' + i, arguments: object(0) };
    return chance.happens(0.9) ? { id: 'c' + i, type: 'function', function: call } : call;
  });
}

function chat(with_tags) {
  const messages = [];
  if (chance.happens(0.4)) messages.push({ role: 'system', content: content(with_tags) });
  messages.push({ role: 'user', content: 'Q' + text(8, with_tags) });
  for (let n = chance.below(9); n > 0; --n) {
    const message = { role: chance.pick(['user', 'assistant', 'assistant', 'tool', 'tool']), content: content(with_tags) };
    if (message.role === 'assistant') {
      if (chance.happens(0.5)) message.reasoning_content = text(8, with_tags);
      if (chance.happens(0.5)) message.tool_calls = with_tags ? calls() : [];
    }
    messages.push(message);
  }
  const last = messages.at(-1);
  const request = { messages };
  if (chance.happens(0.3)) request.add_generation_prompt = chance.happens(0.5);
  // lirio would continue it, where the template has no say.
  if (last.role === 'assistant' && !last.tool_calls?.length) request.add_generation_prompt = false;
  if (chance.happens(0.3) && with_tags) {
    request.tools = Array.from({ length: chance.below(3) }, (_, i) => (
      { type: 'function', function: { name: 'f' + i, description: text(), parameters: object(0) } }));
  }
  for (const key of ['enable_thinking', 'preserve_thinking']) {
    if (chance.happens(0.5)) request[key] = chance.happens(0.5);
  }
  return request;
}

function rendered(template, request) {
  const { messages, tools, add_generation_prompt = true, ...switches } = request;
  return template.render({ messages, tools, add_generation_prompt, ...switches });
}

/** Whether jinja's lstrip would take more than newlines from an answer. */
function strips_too_much(message) {
  if (message.role !== 'assistant' || typeof message.reasoning_content === 'string') return false;
  const { content } = message;
  const whole = Array.isArray(content) ? content.map((part) => part.text).join('') : content ?? '';
  return /<\/think>\n*[^\S\n]/.test(whole);
}

function strict_chat() {
  for (;;) {
    const request = chat(true);
    if (!request.messages.some(strips_too_much)) return request;
  }
}

const template = new Template(readFileSync(template_file, 'utf8'));
const report = new Report();

const chats = Array.from({ length: 4000 }, strict_chat);
const ours = run_batch(program, ['render'], chats);
chats.forEach((request, i) => report.same(JSON.stringify(request), ours[i].text, rendered(template, request)));

// Without tags in the text every tag is the renderer's, and the reference pipeline finds the same control tokens.
const model = join(source, 'models', 'pocket');
const read = (name) => JSON.parse(readFileSync(join(model, name), 'utf8'));
const tokenizer = new Tokenizer(read('tokenizer.json'), read('tokenizer_config.json'));
const plain = Array.from({ length: 1000 }, () => chat(false));
run_batch(program, ['tokenize', '--chat', 'FILE', '--model', model], plain).forEach((tokens, i) => {
  const theirs = tokenizer.encode(rendered(template, plain[i]), { add_special_tokens: false });
  report.same(JSON.stringify(plain[i]), tokens.ids, Array.from(theirs.ids));
});
report.end('chats');
