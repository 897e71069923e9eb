// What pictures are drawn with: a canvas, or the text of an SVG file.

export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "lineWidth" | "font" | "textBaseline" | "textAlign" | "globalAlpha"
  | "fillRect" | "strokeRect" | "fillText" | "beginPath" | "closePath" | "moveTo" | "lineTo" | "stroke" | "fill"
  | "rect" | "clip" | "save" | "restore" | "measureText" | "setLineDash"
>;

/** A picture of a given size; drawn anew for each use. */
export interface Picture {
  name: string;
  width: number;
  height: number;
  draw(pen: Pen, width: number, height: number): void;
}

const escaped = (text: string) =>
  text.replace(/[\u0000-\u0008\u000b-\u001f]/g, "\ufffd").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const short = (n: number) => String(Math.round(n * 100) / 100);

/** Records what is drawn as SVG elements. */
export class SvgPen implements Pen {
  fillStyle: string = "#000";
  strokeStyle: string = "#000";
  lineWidth = 1;
  font = "12px sans-serif";
  textBaseline: CanvasTextBaseline = "alphabetic";
  textAlign: CanvasTextAlign = "left";
  globalAlpha = 1;
  private readonly parts: string[] = [];
  private path = "";
  private dash: number[] = [];
  private clips = 0;
  private open = 0;
  private readonly saved: { open: number; state: Partial<SvgPen>; dash: number[] }[] = [];
  private readonly ruler = document.createElement("canvas").getContext("2d");

  constructor(private readonly width: number, private readonly height: number) {}

  private opacity() { return this.globalAlpha === 1 ? "" : ` opacity="${short(this.globalAlpha)}"`; }
  private line() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    return `fill="none" stroke="${escaped(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"${dash}${this.opacity()}`;
  }
  private box(x: number, y: number, w: number, h: number) {
    return `x="${short(Math.min(x, x + w))}" y="${short(Math.min(y, y + h))}" width="${short(Math.abs(w))}" height="${short(Math.abs(h))}"`;
  }
  fillRect(x: number, y: number, w: number, h: number) {
    this.parts.push(`<rect ${this.box(x, y, w, h)} fill="${escaped(this.fillStyle)}"${this.opacity()}/>`);
  }
  strokeRect(x: number, y: number, w: number, h: number) { this.parts.push(`<rect ${this.box(x, y, w, h)} ${this.line()}/>`); }
  fillText(text: string, x: number, y: number) {
    const anchor = this.textAlign === "center" ? "middle" : this.textAlign === "right" || this.textAlign === "end" ? "end" : "start";
    const base = this.textBaseline === "middle" ? "central" : this.textBaseline === "top" ? "hanging" : "auto";
    const font = /^((?:\S+ )*?)([\d.]+px) (.*)$/.exec(this.font);
    const weight = font?.[1]?.trim() ? ` font-weight="${escaped(font[1].trim())}"` : "";
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" font-size="${font?.[2] ?? "12px"}"${weight} font-family="${escaped(font?.[3] ?? "sans-serif")}"` +
        ` text-anchor="${anchor}" dominant-baseline="${base}" fill="${escaped(this.fillStyle)}"${this.opacity()}>${escaped(text)}</text>`,
    );
  }
  beginPath() { this.path = ""; }
  closePath() { this.path += "Z"; }
  moveTo(x: number, y: number) { this.path += `M${short(x)} ${short(y)}`; }
  lineTo(x: number, y: number) { this.path += `L${short(x)} ${short(y)}`; }
  rect(x: number, y: number, w: number, h: number) { this.path += `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}Z`; }
  stroke() { this.parts.push(`<path d="${this.path}" ${this.line()}/>`); }
  fill() { this.parts.push(`<path d="${this.path}" fill="${escaped(this.fillStyle)}"${this.opacity()}/>`); }
  clip() {
    const id = `c${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
    this.open++;
  }
  save() {
    const { fillStyle, strokeStyle, lineWidth, font, textBaseline, textAlign, globalAlpha } = this;
    this.saved.push({ open: this.open, state: { fillStyle, strokeStyle, lineWidth, font, textBaseline, textAlign, globalAlpha }, dash: this.dash });
  }
  restore() {
    const saved = this.saved.pop();
    if (!saved) return;
    for (; this.open > saved.open; this.open--) this.parts.push("</g>");
    Object.assign(this, saved.state);
    this.dash = saved.dash;
  }
  setLineDash(dash: number[]) { this.dash = [...dash]; }
  measureText(text: string): TextMetrics {
    if (!this.ruler) return { width: text.length * 7 } as TextMetrics;
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  text(): string {
    const end = "</g>".repeat(this.open);
    return `<svg xmlns="${document.querySelector("svg")?.namespaceURI ?? ""}" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">${this.parts.join("\n")}${end}</svg>\n`;
  }
}

/** Draws on a canvas at the screen's own resolution. */
export function paint(canvas: HTMLCanvasElement, width: number, height: number, draw: (pen: CanvasRenderingContext2D) => void): void {
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  draw(pen);
}

const shortened = new Map<string, number>();

/** `text`, cut to what fits into `width`; empty if next to nothing does. */
export function fitted(pen: Pen, text: string, width: number): string {
  const key = pen.font + text;
  let whole = shortened.get(key);
  if (whole === undefined) {
    whole = pen.measureText(text).width;
    if (shortened.size > 50_000) shortened.clear();
    shortened.set(key, whole);
  }
  if (whole <= width) return text;
  const each = whole / Math.max(text.length, 1);
  const room = Math.floor((width - each * 1.2) / each);
  return room < 2 ? "" : `${text.slice(0, room)}\u2026`;
}

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  const at = URL.createObjectURL(blob);
  link.setAttribute("href", at);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(at), 10_000);
}

/** The picture to the clipboard, or into a file where the browser has none. */
export async function copyPng(picture: Picture, background: string): Promise<string> {
  const canvas = document.createElement("canvas");
  canvas.width = picture.width * 2;
  canvas.height = picture.height * 2;
  const pen = canvas.getContext("2d");
  if (!pen) return "This browser draws no pictures.";
  pen.scale(2, 2);
  pen.fillStyle = background;
  pen.fillRect(0, 0, picture.width, picture.height);
  picture.draw(pen, picture.width, picture.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) return "The picture is too large.";
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
    return "Copied as PNG.";
  } catch {
    download(blob, `${picture.name}.png`);
    return `Saved as ${picture.name}.png.`;
  }
}

export function svgOf(picture: Picture, background: string): string {
  const pen = new SvgPen(picture.width, picture.height);
  pen.fillStyle = background;
  pen.fillRect(0, 0, picture.width, picture.height);
  picture.draw(pen, picture.width, picture.height);
  return pen.text();
}

export async function copySvg(picture: Picture, background: string): Promise<string> {
  const text = svgOf(picture, background);
  try {
    await navigator.clipboard.writeText(text);
    return "Copied as SVG.";
  } catch {
    download(new Blob([text], { type: "image/svg+xml" }), `${picture.name}.svg`);
    return `Saved as ${picture.name}.svg.`;
  }
}
