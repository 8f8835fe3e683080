// Whole objects, unpacked chunk by chunk when one of them is looked at.
const CHUNKS = JSON.parse(byId("bodies").textContent);
const opened = new Map();

async function unpack(at) {
  const packed = Uint8Array.from(atob(CHUNKS[at].data), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

async function body(number) {
  if (number === undefined) return null;
  let at = CHUNKS.length - 1;
  while (at > 0 && CHUNKS[at].first > number) at -= 1;
  if (!opened.has(at)) opened.set(at, unpack(at));
  return (await opened.get(at))[number - CHUNKS[at].first];
}
