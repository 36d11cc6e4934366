// What the oracles share: loading packages that may be missing, running lirio on many lines at once, seeded chance, and
// reporting. An oracle exits with 0 (equal), 1 (different) or 77 (skipped).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

/** The package `name`, or the end of the test when it is not installed. */
export async function load(name) {
  try {
    return await import(name);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return skip(`the npm package ${name} is not installed; run tools/setup_oracles.sh`);
  }
}

/** Runs `body` with the path of a folder that is removed afterwards. */
export function with_folder(body) {
  const folder = mkdtempSync(join(tmpdir(), 'lirio-oracle-'));
  try {
    return body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What `lirio ARGUMENTS --batch` makes of each of `values`. A line that is already JSON is passed as a Line. */
export function run_batch(program, args, values) {
  const input = values.map((value) => (value instanceof Line ? value.text : JSON.stringify(value)) + '\n').join('');
  return with_folder((folder) => {
    const file = join(folder, 'lines');
    writeFileSync(file, input);
    const command = args.includes('FILE') ? args.map((arg) => (arg === 'FILE' ? file : arg)) : args;
    const out = execFileSync(program, [...command, '--batch'], {
      input: args.includes('FILE') ? '' : input,
      maxBuffer: 1 << 30,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const lines = out.toString('utf8').split('\n').filter((line) => line !== '');
    if (lines.length !== values.length) throw new Error(`${values.length} lines in, ${lines.length} out`);
    return lines.map((line) => JSON.parse(line));
  });
}

export class Line {
  constructor(text) {
    this.text = text;
  }
}

/** A seeded generator (mulberry32): the same values on every machine. */
export class Chance {
  constructor(seed) {
    this.state = seed;
  }
  next() {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  /** 0 to n - 1. */
  below(n) {
    return Math.floor(this.next() * n);
  }
  pick(list) {
    return list[this.below(list.length)];
  }
  happens(probability) {
    return this.next() < probability;
  }
}

/** Counts comparisons and prints the first differences. */
export class Report {
  compared = 0;
  different = 0;

  same(what, ours, theirs) {
    this.compared += 1;
    const [a, b] = [JSON.stringify(ours), JSON.stringify(theirs)];
    if (a === b) return true;
    this.different += 1;
    if (this.different <= 5) console.log(`different: ${what}\n  lirio:  ${a}\n  oracle: ${b}`);
    return false;
  }

  end(subject) {
    console.log(`${subject}: ${this.compared} compared, ${this.different} different`);
    process.exit(this.different === 0 && this.compared > 0 ? 0 : 1);
  }
}
