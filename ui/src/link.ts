// Where the reader is, in the address' fragment: a link to what is seen.

export interface State { view: string; settings: Record<string, string> }

export function parse(fragment: string): State {
  const [view = "", query = ""] = fragment.replace(/^#/, "").split("?");
  return { view, settings: Object.fromEntries(new URLSearchParams(query)) };
}

export function format(state: State): string {
  const query = new URLSearchParams(state.settings).toString();
  return `#${state.view}${query ? `?${query}` : ""}`;
}

let state: State = parse(location.hash);

export const here = (): State => state;

/** Remembers a setting of the view that is open; an empty one is forgotten. */
export function remember(settings: Record<string, string | null>): void {
  for (const [key, value] of Object.entries(settings)) {
    if (value === null || value === "") delete state.settings[key];
    else state.settings[key] = value;
  }
  replace();
}

let waiting = 0;
function replace(): void {
  // Browsers limit how often an address may change.
  clearTimeout(waiting);
  waiting = window.setTimeout(() => {
    try { history.replaceState(null, "", format(state)); } catch { /* no address to change */ }
  }, 120);
}

export function go(view: string, settings: Record<string, string> = {}): void {
  clearTimeout(waiting);
  state = { view, settings };
  const fragment = format(state);
  if (location.hash !== fragment) location.hash = fragment;
  else window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function onGo(f: (state: State) => void): void {
  window.addEventListener("hashchange", () => {
    state = parse(location.hash);
    f(state);
  });
}
