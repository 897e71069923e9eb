// The little of a browser that modules touch when they are loaded.
const nothing = () => undefined;
Object.assign(globalThis, {
  window: globalThis,
  location: { hash: "#blame?kind=unit" },
  addEventListener: nothing,
  matchMedia: () => ({ addEventListener: nothing, matches: false }),
});
