#!/usr/bin/env node
// Builds static/dist/widget.js from static/widget.js: the widget and the client as one minified module, which is what a page loads. The
// libraries of static/vendor and the words of other languages stay files of their own, for they are loaded when they are needed.
// `--check` writes nothing and fails where the file that is there differs. Needs what scripts/e2e-setup installs.

import fs from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = path.join(root, "static/dist/widget.js");
const { build } = createRequire(path.join(root, "tests/e2e/package.json"))("esbuild");

/** What is loaded when it is needed: named from where the bundle is served, beside the folders `vendor` and `widget`. */
const later = {
  name: "later",
  setup({ onResolve }) {
    onResolve({ filter: /\/vendor\/[\w-]+\.js$/ }, ({ path: file }) => ({ path: `./vendor/${path.basename(file)}`, external: true }));
    onResolve({ filter: /\/strings\/[\w-]+\.js$/ }, ({ kind, path: file }) =>
      kind === "dynamic-import" ? { path: `./widget/strings/${path.basename(file)}`, external: true } : undefined);
  },
};

/** The bundle's text. */
export async function bundle() {
  const made = await build({
    entryPoints: [path.join(root, "static/widget.js")],
    banner: { js: "/*! Portico's chat widget, Apache-2.0; built by scripts/bundle.mjs from static/widget.js */" },
    bundle: true,
    charset: "utf8",
    format: "esm",
    legalComments: "none",
    minify: true,
    plugins: [later],
    target: "es2022",
    write: false,
  });
  return made.outputFiles[0].text;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await bundle();
  if (process.argv.includes("--check")) {
    const there = await fs.readFile(out, "utf8").catch(() => "");
    if (there !== text) {
      console.error("bundle: static/dist/widget.js is not what static/widget.js makes; run scripts/bundle.mjs");
      process.exit(1);
    }
  } else {
    await fs.mkdir(path.dirname(out), { recursive: true });
    await fs.writeFile(out, text);
  }
}
