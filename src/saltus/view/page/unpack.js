// ---- unpack: base64 -> gzip -> head and typed arrays (see pack.py)
const ARRAYS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array };

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), made = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) made[i] = raw.charCodeAt(i);
  return made;
}

async function unpack(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  const blocks = {};
  for (const [name, kind, shape] of head.blocks) {
    const size = ARRAYS[kind].BYTES_PER_ELEMENT, count = shape.reduce((a, b) => a * b, 1), made = new Uint8Array(size * count);
    for (let place = 0; place < size; place++, at += count)
      for (let i = 0, o = place; i < count; i++, o += size) made[o] = bytes[at + i];
    blocks[name] = new ARRAYS[kind](made.buffer);
    blocks[name].columns = shape.length > 1 ? shape.slice(1).reduce((a, b) => a * b, 1) : 1;
  }
  return { head, blocks };
}

// values behind a jump are stored as the bits in which they differ from those before it
function behind(before, difference) {
  const bits = new Uint32Array(before.length), own = new Uint32Array(before.buffer, before.byteOffset, before.length);
  for (let i = 0; i < bits.length; i++) bits[i] = own[i] ^ difference[i];
  const made = new Float32Array(bits.buffer);
  made.columns = before.columns;
  return made;
}

// first place with t[place] >= x, and with t[place] > x
function lower(t, x) { let a = 0, b = t.length; while (a < b) { const m = (a + b) >> 1; if (t[m] < x) a = m + 1; else b = m; } return a; }
function upper(t, x) { let a = 0, b = t.length; while (a < b) { const m = (a + b) >> 1; if (t[m] <= x) a = m + 1; else b = m; } return a; }
