// Elements. Text is only ever set as text: there is no way here from a string
// to markup.

export type Child_ = Child;
type Child = Node | string | null | undefined | false | Child[];
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** An element: `el("td.num", { title: "x", onclick: f }, "text", child)`. */
export function el(spec: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, String(value));
  }
  append(element, children);
  return element;
}

export function append(to: Node, children: Child): void {
  if (Array.isArray(children)) for (const c of children) append(to, c);
  else if (children !== null && children !== undefined && children !== false) {
    to.appendChild(typeof children === "string" ? document.createTextNode(visible(children)) : children);
  }
}

export function clear<T extends Node>(element: T): T {
  while (element.firstChild) element.firstChild.remove();
  return element;
}

export function refill(element: Element, ...children: Child[]): void {
  clear(element);
  append(element, children);
}

/** Control characters as their pictures, so that they can be seen. */
export function visible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (c) =>
    String.fromCharCode(c === "\u007f" ? 0x2421 : 0x2400 + c.charCodeAt(0)),
  ).replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "\ufffd");
}

/** `like this` in a sentence is code. */
export function prose(text: string): Child[] {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

export function button(label: string, onclick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return el("button", { type: "button", onclick, ...attributes }, label) as HTMLButtonElement;
}

export function section(title: string, about: Child, ...children: Child[]): HTMLElement {
  return el("section", { "aria-label": title }, el("h2", {}, title), about ? el("p.about", {}, about) : null, children);
}
